// The operator's log in tests: it writes the lines to the terminal.

export default {
  write(level: string, message: string): void {
    console.error(`${level}: ${message}`);
  },
};
