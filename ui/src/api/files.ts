// Uploaded files. The page has a token that links cannot carry, so it fetches their bytes itself.
import {call, path, send} from "./request";

export interface FileRecord {
  file_id: string;
  mime_type: string;
  size_bytes: number;
  filename: string | null;
  extracted_text: string | null;
}

export interface Multimodal {
  media_storage_type: string;
  media_max_size_mb: number;
  document_handling: string;
}

export function uploadFile(file: File): Promise<FileRecord> {
  const form = new FormData();
  form.append("file", file, file.name || "pasted");
  return call<FileRecord>("POST", "/v1/files/upload", form);
}

export function fileInfo(fileId: string, signal?: AbortSignal): Promise<FileRecord> {
  return call<FileRecord>("GET", path`/v1/files/${fileId}/info`, undefined, signal);
}

export async function fileBytes(fileId: string, signal?: AbortSignal): Promise<Blob> {
  return (await send("GET", path`/v1/files/${fileId}`, signal ? {signal} : {})).blob();
}

// The kind of block that refers to a file of this type.
export function blockType(mimeType: string): "image" | "audio" | "document" {
  if (mimeType.startsWith("image/")) return "image";
  return mimeType.startsWith("audio/") ? "audio" : "document";
}

export async function saveFile(fileId: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await fileBytes(fileId));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function readMultimodal(signal?: AbortSignal): Promise<Multimodal> {
  return call<Multimodal>("GET", "/v1/config/multimodal", undefined, signal);
}
