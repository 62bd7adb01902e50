// A live session: sends the microphone, plays the answer, and keeps what is said.
import {root} from "../api/root";
import {session} from "../api/session";
import {Store} from "../base/store";
import {Microphone} from "./microphone";
import {Speaker} from "./speaker";

export interface Line {
  who: "you" | "agent" | "note";
  text: string;
  open: boolean; // more of it comes
}

export interface LiveState {
  phase: "idle" | "connecting" | "open" | "closing" | "closed";
  lines: Line[];
  level: number; // level of the microphone
  hears: boolean;
  latency: number | null; // from the end of the user's speech or text to the first audio, milliseconds
  error: string | null;
}

const IDLE: LiveState = {phase: "idle", lines: [], level: 0, hears: false, latency: null, error: null};
// Above this level the user counts as speaking.
const SPEECH_LEVEL = 0.45;
// The service has this long to end a session that the user has left.
const CLOSING_MS = 10_000;

interface LiveEvent {
  type: string;
  text?: string;
  finished?: boolean;
  name?: string;
  author?: string;
  message?: string;
  code?: string | null;
  fatal?: boolean;
}

// Browsers send no headers of ours with a WebSocket, so the token is the name of a sub-protocol. Null: it has
// characters that such a name cannot have. It is never put into the address, because addresses are logged.
function connect(): WebSocket | null {
  const {token} = session.get();
  const url = `${root.replace(/^http/, "ws")}/v1/graph/live`;
  try {
    return token ? new WebSocket(url, ["service-bearer", token]) : new WebSocket(url);
  } catch {
    return null;
  }
}

export class LiveSession {
  readonly state = new Store<LiveState>(IDLE);
  private socket: WebSocket | null = null;
  private microphone: Microphone | null = null;
  private speaker: Speaker | null = null;
  private spokeAt: number | null = null; // the user's last word that has no answer yet

  private update(change: Partial<LiveState>): void {
    this.state.set({...this.state.get(), ...change});
  }

  start(threadId: string): void {
    if (this.socket) return;
    const socket = connect();
    if (!socket) {
      this.update({
        ...IDLE,
        error: "browsers cannot send this token with a WebSocket: it has a character such as / or =",
      });
      return;
    }
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.speaker = new Speaker();
    this.update({...IDLE, phase: "connecting"});
    socket.onopen = () => {
      socket.send(JSON.stringify({thread_id: threadId, modalities: ["AUDIO"]}));
      this.update({phase: "open"});
    };
    socket.onmessage = ({data}: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.take(JSON.parse(data) as LiveEvent);
      else if (this.state.get().phase === "open") this.play(data);
    };
    socket.onclose = ({code, reason}) => {
      const left = code === 1000 || this.state.get().phase === "closing";
      this.end(left ? null : reason || `the connection was closed (${code})`);
    };
  }

  private play(block: ArrayBuffer): void {
    if (this.spokeAt !== null) {
      this.update({latency: performance.now() - this.spokeAt});
      this.spokeAt = null;
    }
    this.speaker?.play(block);
  }

  private take(event: LiveEvent): void {
    switch (event.type) {
      case "input_transcript":
        this.hear("you", event);
        break;
      case "output_transcript":
        this.hear("agent", event);
        break;
      case "interrupted":
        this.speaker?.discard();
        break;
      case "tool_call":
        this.note(`calls ${event.name}`);
        break;
      case "agent_changed":
        this.note(`${event.author} speaks now`);
        break;
      case "error":
        this.update({error: [event.code, event.message].filter(Boolean).join(": ")});
        break;
    }
  }

  private hear(who: "you" | "agent", {text = "", finished = false}: LiveEvent): void {
    const lines = [...this.state.get().lines];
    const last = lines.at(-1);
    if (last?.who === who && last.open)
      lines[lines.length - 1] = {...last, text: last.text + text, open: !finished};
    else if (text) lines.push({who, text, open: !finished});
    this.update({lines});
  }

  private note(text: string): void {
    this.update({lines: [...this.state.get().lines, {who: "note", text, open: false}]});
  }

  say(text: string): void {
    this.spokeAt = performance.now();
    this.socket?.send(JSON.stringify({type: "text", text}));
    this.update({lines: [...this.state.get().lines, {who: "you", text, open: false}]});
  }

  async listen(): Promise<void> {
    if (this.microphone) return;
    const microphone = new Microphone();
    this.microphone = microphone;
    try {
      await microphone.start((block, level) => {
        if (level > SPEECH_LEVEL) this.spokeAt = performance.now();
        if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(block);
        this.update({level});
      });
      // The user may have muted it while the browser asked for permission.
      if (this.microphone === microphone) this.update({hears: true, error: null});
    } catch (error) {
      if (this.microphone !== microphone) return;
      this.mute();
      this.update({error: (error as Error).message});
    }
  }

  mute(): void {
    this.microphone?.stop();
    this.microphone = null;
    this.update({hears: false, level: 0});
  }

  // Ends the session. An open one is asked to end, so that the service can finish the current answer, and is closed if
  // it does not. A connection that is not open yet is closed.
  stop(): void {
    const {socket} = this;
    this.mute();
    this.speaker?.discard();
    if (!socket || this.state.get().phase === "closing") return;
    this.update({phase: "closing"});
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({type: "close"}));
      setTimeout(() => socket.close(), CLOSING_MS);
    } else {
      socket.close();
    }
  }

  private end(error: string | null): void {
    this.mute();
    this.socket = null;
    this.speaker?.close();
    this.speaker = null;
    const known = this.state.get().error;
    this.update({phase: "closed", error: known ?? error});
  }
}
