// Icons: strokes in a square of 24.
const PATHS = {
  chat: "M4 5h16v11H9l-5 4z",
  graph: "M4 4h6v6H4zM14 14h6v6h-6zM10 7h4a3 3 0 0 1 3 3v4",
  threads: "M4 6h16M4 12h16M4 18h10",
  runs: "M4 6h7M8 12h9M13 18h7",
  memories: "M6 4h12v17l-6-4-6 4z",
  files: "M7 3h7l4 4v14H7zM14 3v4h4",
  evals: "M5 12l4 4L19 6",
  live: "M12 4a3 3 0 0 1 3 3v4a3 3 0 0 1-6 0V7a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4",
  server: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  send: "M5 12h14M13 6l6 6-6 6",
  stop: "M7 7h10v10H7z",
  clip: "M20 11l-8 8a5 5 0 0 1-7-7l8-8a3.5 3.5 0 0 1 5 5l-8 8a2 2 0 0 1-3-3l7-7",
  plus: "M12 5v14M5 12h14",
  retry: "M20 11a8 8 0 1 0-2 6M20 5v6h-6",
  edit: "M4 20l1-5L16 4l4 4L9 19z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  fork: "M7 4v16M7 14c6 0 10-2 10-8M17 4v2",
  close: "M6 6l12 12M18 6L6 18",
  tool: "M14 6a4 4 0 0 0-5 5l-5 5 4 4 5-5a4 4 0 0 0 5-5l-3 2-3-3z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1 1M18 18l1 1M5 19l1-1M18 6l1-1",
  out: "M14 4h5v16h-5M4 12h10M10 8l4 4-4 4",
  tune: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  more: "M6 12h.01M12 12h.01M18 12h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({name}: {name: IconName}) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
