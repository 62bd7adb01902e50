const LETTERS = 24;

// crypto.randomUUID needs https or localhost; this works everywhere.
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(LETTERS / 2));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Ids made here are shown shortened; those that people have chosen are shown whole.
export function shortId(id: string): string {
  return id.length === LETTERS && /^[0-9a-f]+$/.test(id) ? `${id.slice(0, 8)}…` : id;
}
