#include "facades/mcp/media_content.h"

#include <optional>

#include "base/json.h"
#include "base/percent_encoding.h"
#include "facades/run/json_member.h"
#include "models/media.h"

namespace agent_graph::mcp {
namespace {

using facades::AppendMember;

constexpr std::string_view kAttachmentPrefix = "agent-graph://attachments/";

std::string_view NameOf(const MediaReference& media) {
  return media.filename.empty() ? std::string_view("file") : media.filename;
}

// `number`: of the file in the answer.
void AppendInline(std::string& out, const MediaBlock& block, const models::InlineData& data,
                  size_t number, std::string_view revision) {
  const bool is_image = block.type == MediaBlock::Type::kImage;
  const bool is_audio = block.type == MediaBlock::Type::kAudio && revision >= kAudioSince;
  if (is_image || is_audio) {
    out += is_image ? R"({"type":"image")" : R"({"type":"audio")";
    AppendMember(out, "data", data.base64);
    AppendMember(out, "mimeType", data.mime_type);
    out += '}';
    return;
  }
  out += R"({"type":"resource","resource":{"uri":)";
  AppendJsonString(out, std::string(kAttachmentPrefix) + std::to_string(number) + '/' +
                            PercentEncode(NameOf(block.media)));
  AppendMember(out, "mimeType", data.mime_type);
  AppendMember(out, "blob", data.base64);
  out += "}}";
}

void AppendLink(std::string& out, const MediaReference& media, const std::string& url,
                std::string_view revision) {
  if (revision < kLinksSince) {
    out += R"({"type":"text","text":)";
    AppendJsonString(out, std::string(NameOf(media)) + ": " + url);
    out += '}';
    return;
  }
  out += R"({"type":"resource_link")";
  AppendMember(out, "uri", url);
  AppendMember(out, "name", NameOf(media));
  if (!media.mime_type.empty()) AppendMember(out, "mimeType", media.mime_type);
  out += '}';
}

}  // namespace

void AppendMedia(std::string& out, const std::vector<MediaBlock>& media,
                 const std::string& files_url, std::string_view revision) {
  size_t number = 0;
  for (const MediaBlock& block : media) {
    if (out.back() != '[') out += ',';
    ++number;
    if (const std::optional<models::InlineData> data = models::InlineDataOf(block)) {
      AppendInline(out, block, *data, number, revision);
      continue;
    }
    const bool is_own = block.media.kind == MediaReference::Kind::kFileId;
    const std::string url = is_own ? files_url + block.media.file_id : block.media.url;
    AppendLink(out, block.media, url, revision);
  }
}

}  // namespace agent_graph::mcp
