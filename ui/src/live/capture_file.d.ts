// The name of the built capture.ts, from the build.
declare const CAPTURE_FILE: string;
