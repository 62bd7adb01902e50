#include "media/record.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"

namespace agent_graph::media {

bool MayRead(const Reader& reader, const FileRecord& record) {
  return record.owner.empty() ? reader.ownerless_too : record.owner == reader.user_id;
}

bool IsFileId(std::string_view text) {
  return text.size() == kFileIdBytes && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string CleanFileName(std::string_view name) {
  if (size_t slash = name.find_last_of("/\\"); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  std::string clean;
  for (char c : name) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) clean.push_back(c);
  }
  size_t first = clean.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  clean = clean.substr(first, clean.find_last_not_of(' ') - first + 1);
  if (clean == "." || clean == "..") return {};
  return std::string(CutAtCharacter(clean, kFileNameBytesMax));
}

std::string ToText(const FileRecord& record) {
  return DumpJson({{"file_id", record.file_id},
                   {"owner", record.owner},
                   {"mime_type", record.mime_type},
                   {"filename", record.filename},
                   {"sha256", record.sha256},
                   {"size_bytes", record.size_bytes},
                   {"created_micros", record.created_micros},
                   {"active", record.active},
                   {"has_text", record.has_text}});
}

Result<FileRecord> RecordFromText(std::string_view text, std::string_view file_id) {
  AG_ASSIGN_OR_RETURN(json json, ParseJson(text));
  try {
    FileRecord record;
    json.at("file_id").get_to(record.file_id);
    json.at("owner").get_to(record.owner);
    json.at("mime_type").get_to(record.mime_type);
    json.at("filename").get_to(record.filename);
    json.at("sha256").get_to(record.sha256);
    json.at("size_bytes").get_to(record.size_bytes);
    json.at("created_micros").get_to(record.created_micros);
    json.at("active").get_to(record.active);
    json.at("has_text").get_to(record.has_text);
    // The file with the bytes is found by this id, so a wrong one would show another file.
    if (record.file_id == file_id) return record;
    return Status(StatusCode::kDataLoss, "a file's record is that of another file");
  } catch (const json::exception& fault) {
    return Status(StatusCode::kDataLoss, "a file's record cannot be read back")
        .WithDetail(fault.what());
  }
}

}  // namespace agent_graph::media
