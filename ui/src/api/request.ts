// Requests to the service.
import type {Json} from "./messages";
import {root} from "./root";
import {session} from "./session";

// A refusal of the service, with the id that finds the request in its log; or no answer at all.
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly requestId: string | null,
  ) {
    super(message);
  }

  // True if the failure may be temporary.
  get mayBeRepeated(): boolean {
    return REPEATED.has(this.status) && this.code !== "NOT_CONFIGURED";
  }
}

const REPEATED = new Set([
  0, // no answer has arrived
  429, // a rate limit
  502, // a proxy in front of the service has lost it, as during a restart
  503, // overload, or the state of the service cannot be reached
  504, // a proxy has waited too long
]);

const CREDENTIALS = new Set([
  "REVOKED_TOKEN",
  "EXPIRED_TOKEN",
  "INVALID_TOKEN",
  "AUTHENTICATION_FAILED",
  "JWT_SETTINGS_NOT_CONFIGURED",
]);

interface Refusal {
  detail?: string;
  error?: {code?: string; message?: string; details?: {loc?: (string | number)[]; msg?: string}[]};
}

async function errorOf(response: Response): Promise<ApiError> {
  const id = response.headers.get("X-Request-ID");
  const body: Refusal = await response.json().catch(() => ({}));
  const code = body.error?.code ?? `HTTP_${response.status}`;
  const text = body.detail ?? body.error?.message ?? `the server answered with status ${response.status}`;
  return new ApiError(text, response.status, code, id);
}

export interface Options {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  signsOut?: boolean; // false: a refusal says nothing about the token, because the answer is not the service's
}

// The head of an answer arrives within this time, also that of a stream: the service answers with 503
// after 30 seconds without memory. Uploads may take longer.
const HEAD_MS = 60_000;

async function fetchWithin(ms: number, path: string, init: RequestInit): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal;
  try {
    return await fetch(root + path, {...init, signal});
  } finally {
    clearTimeout(timer);
  }
}

// Sends a request; throws ApiError unless the answer is a success.
export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = {...options.headers};
  const {token} = session.get();
  if (token) headers["Authorization"] = `Bearer ${token}`;
  const isForm = options.body instanceof FormData;
  if (options.body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  const init: RequestInit = {method, headers, cache: "no-store"};
  if (options.body !== undefined)
    init.body = isForm ? (options.body as FormData) : JSON.stringify(options.body);
  if (options.signal) init.signal = options.signal;
  let response: Response;
  try {
    response = isForm ? await fetch(root + path, init) : await fetchWithin(HEAD_MS, path, init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError("the server cannot be reached", 0, "UNREACHABLE", null);
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  const refused = CREDENTIALS.has(error.code) || error.status === 401;
  // A late answer may be to the token of the user before.
  if (refused && options.signsOut !== false && session.get().token === token)
    session.set({...session.get(), refused: true});
  throw error;
}

// The member `data` of the answer.
export async function call<T = Json>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const options: Options = {};
  if (body !== undefined) options.body = body;
  if (signal) options.signal = signal;
  const response = await send(method, path, options);
  return ((await response.json()) as {data: T}).data;
}

// A path from parts that are escaped: path`/v1/threads/${id}`.
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  return texts
    .map((text, i) => text + (i < values.length ? encodeURIComponent(values[i] ?? "") : ""))
    .join("");
}
