// Reads a stream of JSON, one object per line.

// A server that is there sends at least a blank line every 10 seconds.
const SILENCE_MS = 25_000;

function readWithin<T>(reader: ReadableStreamDefaultReader<T>): Promise<ReadableStreamReadResult<T>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the stream is silent")), SILENCE_MS);
    reader
      .read()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

// Throws when the stream is cut, also within a line.
export async function* lines<T>(response: Response): AsyncGenerator<T> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const {done, value} = await readWithin(reader);
      const parts = (rest + (value ?? "")).split("\n");
      rest = done ? "" : (parts.pop() ?? "");
      for (const line of parts) {
        if (line.trim()) yield JSON.parse(line) as T;
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
