// What is known of an uploaded file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::media {

inline constexpr size_t kFileNameBytesMax = 255;
inline constexpr size_t kFileIdBytes = 32;
inline constexpr size_t kRecordBytesMax = 64 * 1024;  // of a record's text
inline constexpr size_t kExtractedTextBytesMax = 512 * 1024;

// Written once, with the file; never changed.
struct FileRecord {
  std::string file_id;    // 32 lower-case hex digits
  std::string owner;      // user id; empty: uploaded without one
  std::string mime_type;  // as the upload told, else by the name's extension
  std::string filename;   // as the upload told, without a path
  std::string sha256;     // hex
  uint64_t size_bytes = 0;
  int64_t created_micros = 0;
  // A browser that opened it would run what is in it: it is only offered for saving.
  bool active = false;
  bool has_text = false;  // its text was extracted
};

// Who wants to read.
struct Reader {
  std::string user_id;        // empty: nobody in particular
  bool ownerless_too = true;  // files without an owner are everybody's
};

// Files of others are to be answered like those that do not exist.
bool MayRead(const Reader& reader, const FileRecord& record);

bool IsFileId(std::string_view text);

// The last component of what a client calls its file, without control characters, at most
// kFileNameBytesMax; empty when nothing is left.
std::string CleanFileName(std::string_view name);

// The text that is stored beside a file.
std::string ToText(const FileRecord& record);
// kDataLoss when it is damaged, or of another file.
Result<FileRecord> RecordFromText(std::string_view text, std::string_view file_id);

}  // namespace agent_graph::media
