// The user's microphone as blocks of 16-bit samples, 16 kHz.

export class Microphone {
  private context = new AudioContext();
  private stream: MediaStream | null = null;
  private stopped = false;

  // Asks the user for the microphone; throws if it is not given. After stop() it hears nothing, also if stop() is
  // called before this has returned.
  async start(onBlock: (block: ArrayBuffer, level: number) => void): Promise<void> {
    if (!navigator.mediaDevices) throw new Error("browsers offer the microphone to pages over https only");
    this.stream = await navigator.mediaDevices.getUserMedia({
      audio: {echoCancellation: true, noiseSuppression: true, channelCount: 1},
    });
    if (this.stopped) return this.release();
    await this.context.audioWorklet.addModule(new URL(CAPTURE_FILE, document.baseURI));
    if (this.stopped) return;
    const node = new AudioWorkletNode(this.context, "capture", {numberOfOutputs: 0});
    node.port.onmessage = ({data}: MessageEvent<ArrayBuffer>) => {
      if (!this.stopped) onBlock(data, levelOf(data));
    };
    this.context.createMediaStreamSource(this.stream).connect(node);
    await this.context.resume();
  }

  stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    this.release();
    void this.context.close();
  }

  private release(): void {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
  }
}

// Loudness from 0 to 1, on a scale of decibels from -60 to 0.
function levelOf(block: ArrayBuffer): number {
  const samples = new Int16Array(block);
  let sum = 0;
  for (const sample of samples) sum += (sample / 0x8000) ** 2;
  const decibels = 10 * Math.log10(sum / samples.length + 1e-9);
  return Math.max(0, Math.min(1, (decibels + 60) / 60));
}
