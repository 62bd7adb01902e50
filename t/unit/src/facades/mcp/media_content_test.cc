// Files of an answer in a result, for clients of each revision.
#include "facades/mcp/media_content.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::mcp {
namespace {

constexpr char kFiles[] = "https://a.example/v1/files/";

MediaBlock Inline(MediaBlock::Type type, std::string mime_type, std::string filename = "") {
  MediaBlock block;
  block.type = type;
  block.media.kind = MediaReference::Kind::kData;
  block.media.data_base64 = "aGk=";
  block.media.mime_type = std::move(mime_type);
  block.media.filename = std::move(filename);
  return block;
}

json Content(const std::vector<MediaBlock>& media, std::string_view revision = kStatelessRevision) {
  std::string out = "[";
  AppendMedia(out, media, kFiles, revision);
  return json::parse(out + ']');
}

TEST(MediaContent, ImagesAndSoundsHaveTheirOwnTypes) {
  const std::vector<MediaBlock> media = {Inline(MediaBlock::Type::kImage, "image/png"),
                                         Inline(MediaBlock::Type::kAudio, "")};
  EXPECT_EQ(Content(media), json::parse(R"([{"type":"image","data":"aGk=","mimeType":"image/png"},
                            {"type":"audio","data":"aGk=","mimeType":"audio/wav"}])"));
  EXPECT_EQ(Content(media, "2024-11-05")[1]["type"], "resource");
}

TEST(MediaContent, OtherFilesAreResources) {
  const json content = Content({Inline(MediaBlock::Type::kDocument, "application/pdf", "a b.pdf"),
                                Inline(MediaBlock::Type::kVideo, "")});
  EXPECT_EQ(content, json::parse(R"([
      {"type":"resource","resource":{"uri":"agent-graph://attachments/1/a%20b.pdf",
       "mimeType":"application/pdf","blob":"aGk="}},
      {"type":"resource","resource":{"uri":"agent-graph://attachments/2/file",
       "mimeType":"video/mp4","blob":"aGk="}}])"));
}

TEST(MediaContent, FilesThatAreElsewhereAreLinks) {
  MediaBlock stored;
  stored.media.kind = MediaReference::Kind::kFileId;
  stored.media.file_id = "0123";
  stored.media.mime_type = "image/png";
  MediaBlock remote;
  remote.type = MediaBlock::Type::kDocument;
  remote.media.url = "https://b.example/c.pdf";
  remote.media.filename = "c.pdf";
  EXPECT_EQ(Content({stored, remote}), json::parse(R"([
      {"type":"resource_link","uri":"https://a.example/v1/files/0123","name":"file",
       "mimeType":"image/png"},
      {"type":"resource_link","uri":"https://b.example/c.pdf","name":"c.pdf"}])"));
  EXPECT_EQ(Content({stored, remote}, "2025-03-26"), json::parse(R"([
      {"type":"text","text":"file: https://a.example/v1/files/0123"},
      {"type":"text","text":"c.pdf: https://b.example/c.pdf"}])"));
}

TEST(MediaContent, DataUrlsAreInline) {
  MediaBlock block;
  block.media.url = "data:image/gif;base64,aGk=";
  EXPECT_EQ(Content({block}),
            json::parse(R"([{"type":"image","data":"aGk=","mimeType":"image/gif"}])"));
}

}  // namespace
}  // namespace agent_graph::mcp
