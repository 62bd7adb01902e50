// Runs on the audio thread: converts the microphone's audio to 16-bit samples at 16 kHz, 100 ms at a time.

declare const sampleRate: number;
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}

const RATE = 16_000;
const SAMPLES = RATE / 10;

class Capture extends AudioWorkletProcessor {
  private block = new Int16Array(SAMPLES);
  private filled = 0;
  private sum = 0;
  private count = 0;
  private position = 0; // position of the next output sample, in input samples

  // Averages the input samples that fall into one output sample.
  process(inputs: Float32Array[][]): boolean {
    for (const sample of inputs[0]?.[0] ?? []) {
      this.sum += sample;
      this.count += 1;
      this.position += 1;
      if (this.position < sampleRate / RATE) continue;
      this.position -= sampleRate / RATE;
      this.push(this.sum / this.count);
      this.sum = 0;
      this.count = 0;
    }
    return true;
  }

  private push(value: number): void {
    this.block[this.filled++] = Math.max(-1, Math.min(1, value)) * 0x7fff;
    if (this.filled < SAMPLES) return;
    this.port.postMessage(this.block.buffer, [this.block.buffer]);
    this.block = new Int16Array(SAMPLES);
    this.filled = 0;
  }
}

registerProcessor("capture", Capture);
