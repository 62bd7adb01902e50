declare const CAPTURE_FILE: string;
