// Plays blocks of 16-bit samples, 24 kHz, one after the other.
const RATE = 24_000;

export class Speaker {
  private context = new AudioContext({sampleRate: RATE});
  private sources = new Set<AudioBufferSourceNode>();
  private end = 0; // when the last block ends, on the clock of the context

  play(block: ArrayBuffer): void {
    const samples = new Int16Array(block, 0, Math.floor(block.byteLength / 2));
    if (samples.length === 0) return;
    const buffer = this.context.createBuffer(1, samples.length, RATE);
    buffer.copyToChannel(
      Float32Array.from(samples, (sample) => sample / 0x8000),
      0,
    );
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    this.end = Math.max(this.end, this.context.currentTime + 0.02);
    source.start(this.end);
    this.end += buffer.duration;
    this.sources.add(source);
    source.onended = () => this.sources.delete(source);
  }

  // The user speaks: what was not played yet is void.
  discard(): void {
    for (const source of this.sources) source.stop();
    this.sources.clear();
    this.end = 0;
  }

  close(): void {
    void this.context.close();
  }
}
