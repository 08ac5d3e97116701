/** The operator's log. It shows the plugin's name with each line. Lines must not contain personal data or secrets. */
declare module "assent:host/log@1.0.0" {
  export type Level = "debug" | "info" | "warn" | "error";
  const log: {
    /** Writes one line: at most 1,024 bytes, and at most 32 lines in one call. */
    write(level: Level, message: string): void;
  };
  export default log;
}
