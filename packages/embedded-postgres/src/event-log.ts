/** Receives each event of the server as one line, and whether it is a problem. Lines never contain secrets. */
export type EventLog = (message: string, level: "info" | "error") => void;
