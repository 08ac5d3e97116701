// The operator's log, as tests see it: lines on the terminal.

export default {
  write(level: string, message: string): void {
    console.error(`${level}: ${message}`);
  },
};
