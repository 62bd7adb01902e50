// The record (metadata) of an uploaded file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::media {

inline constexpr size_t kFileNameBytesMax = 255;
inline constexpr size_t kFileIdBytes = 32;
inline constexpr size_t kRecordBytesMax = 64 * 1024;  // bounds the record as text
inline constexpr size_t kExtractedTextBytesMax = 512 * 1024;

// Written once, together with the file; never changed.
struct FileRecord {
  std::string file_id;    // 32 lower-case hex digits
  std::string owner;      // user id; empty: uploaded without a user
  std::string mime_type;  // declared by the upload, else derived from the extension
  std::string filename;   // declared by the upload, without a path
  std::string sha256;     // hex
  uint64_t size_bytes = 0;
  int64_t created_micros = 0;
  // True: a browser would execute the content, so it is only offered as a download.
  bool active = false;
  bool has_text = false;  // its text was extracted
};

// The user who wants to read.
struct Reader {
  std::string user_id;        // empty: anonymous
  bool ownerless_too = true;  // may read files without an owner
};

// False: answer as if the file did not exist.
bool MayRead(const Reader& reader, const FileRecord& record);

bool IsFileId(std::string_view text);

// The last path component of the name that a client declares, without control characters, at most
// kFileNameBytesMax bytes; may be empty.
std::string CleanFileName(std::string_view name);

// The JSON text that is stored beside the file.
std::string ToText(const FileRecord& record);
// kDataLoss if the text is damaged or belongs to another file.
Result<FileRecord> RecordFromText(std::string_view text, std::string_view file_id);

}  // namespace agent_graph::media
