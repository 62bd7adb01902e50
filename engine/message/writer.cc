// Writes a Message as JSON text directly, without a tree, except to check parts of free structure.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "agent_graph/json.h"
#include "base/own_json.h"
#include "base/seconds.h"
#include "base/sized_json.h"
#include "message/codec.h"
#include "message/reader.h"

namespace agent_graph::message {
namespace {

using std::string_view_literals::operator""sv;

template <typename Number>
void AppendNumber(std::string& out, Number number) {
  char text[400];
  std::to_chars_result result;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) number = 0;
    result = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed);
  } else {
    result = std::to_chars(text, text + sizeof text, number);
  }
  out.append(text, result.ptr);
}

// Same text as AppendNumber, but faster for a time in whole microseconds, which all of ours are.
void AppendSeconds(std::string& out, double unix_seconds) {
  constexpr double kLatest = 4e9;  // below this, a double is exact to the microsecond
  if (unix_seconds >= 1 && unix_seconds < kLatest) {
    const auto micros = static_cast<int64_t>(std::llround(unix_seconds * 1e6));
    if (static_cast<double>(micros) / 1e6 == unix_seconds) {
      out += SecondsText(micros).shortest();
      return;
    }
  }
  AppendNumber(out, unix_seconds);
}

void AppendKey(std::string& out, std::string_view key) {
  out += out.back() == '{' ? R"(")"sv : R"(,")"sv;
  out += key;
  out += R"(":)"sv;
}

void AppendTextMember(std::string& out, std::string_view key, std::string_view text) {
  AppendKey(out, key);
  AppendJsonString(out, text);
}

void AppendTextMemberIfSet(std::string& out, std::string_view key, std::string_view text) {
  if (!text.empty()) AppendTextMember(out, key, text);
}

// Parts of free structure may come from user code: they are checked and printed again on one line.
// Text that is not JSON of the expected kind is replaced by `otherwise`.
void AppendChecked(std::string& out, const std::string& text, json::value_t kind,
                   std::string_view otherwise) {
  if (text == otherwise) {
    out += otherwise;
    return;
  }
  auto value = ParseJson(text, kSizedJsonLimits);
  if (value.ok() && value->type() == kind) {
    out += DumpJson(*value);
  } else {
    out += otherwise;
  }
}

void AppendObject(std::string& out, const std::string& text) {
  AppendChecked(out, text, json::value_t::object, "{}");
}

// Any JSON value; text that is not JSON is written as a string.
void AppendAny(std::string& out, const std::string& text) {
  auto value = ParseJson(text, kSizedJsonLimits);
  if (value.ok()) {
    out += DumpJson(*value);
  } else {
    AppendJsonString(out, text);
  }
}

// The members of `extra_json` whose keys are not in `written`.
void AppendExtraMembers(std::string& out, const std::string& extra_json,
                        std::initializer_list<std::string_view> written) {
  if (extra_json == "{}") return;
  auto extra = ParseJson(extra_json, kSizedJsonLimits);
  if (!extra.ok() || !extra->is_object()) return;
  for (const auto& [key, value] : extra->items()) {
    if (std::find(written.begin(), written.end(), key) != written.end()) continue;
    out += ',';
    AppendJsonString(out, key);
    out += ':';
    out += DumpJson(value);
  }
}

std::string_view KindName(MediaReference::Kind kind) {
  switch (kind) {
    case MediaReference::Kind::kUrl:
      return "url";
    case MediaReference::Kind::kFileId:
      return "file_id";
    case MediaReference::Kind::kData:
      return "data";
  }
  return "url";
}

std::string_view MediaTypeName(MediaBlock::Type type) {
  switch (type) {
    case MediaBlock::Type::kImage:
      return "image";
    case MediaBlock::Type::kAudio:
      return "audio";
    case MediaBlock::Type::kVideo:
      return "video";
    case MediaBlock::Type::kDocument:
      return "document";
  }
  return "document";
}

struct BlockWriter {
  std::string& out;

  void operator()(const TextBlock& block) {
    out += R"({"type":"text")";
    AppendTextMember(out, "text", block.text);
    AppendKey(out, "annotations");
    AppendChecked(out, block.annotations_json, json::value_t::array, "[]");
    out += '}';
  }

  void operator()(const MediaBlock& block) {
    const MediaReference& media = block.media;
    out += '{';
    AppendTextMember(out, "type", MediaTypeName(block.type));
    AppendKey(out, "media");
    out += '{';
    AppendTextMember(out, "kind", KindName(media.kind));
    AppendTextMemberIfSet(out, "url", media.url);
    AppendTextMemberIfSet(out, "file_id", media.file_id);
    AppendTextMemberIfSet(out, "data_base64", media.data_base64);
    AppendTextMemberIfSet(out, "mime_type", media.mime_type);
    AppendTextMemberIfSet(out, "filename", media.filename);
    if (media.size_bytes) {
      AppendKey(out, "size_bytes");
      AppendNumber(out, *media.size_bytes);
    }
    AppendExtraMembers(
        out, media.extra_json,
        {"kind", "url", "file_id", "data_base64", "mime_type", "filename", "size_bytes"});
    out += '}';
    AppendExtraMembers(out, block.extra_json, {"type", "media"});
    out += '}';
  }

  void operator()(const ToolCallBlock& block) {
    out += block.remote ? R"({"type":"remote_tool_call")" : R"({"type":"tool_call")";
    AppendTextMember(out, "id", block.id);
    AppendTextMember(out, "name", block.name);
    AppendKey(out, "args");
    AppendObject(out, block.arguments_json);
    if (block.remote) AppendTextMember(out, "tool_type", "remote");
    out += '}';
  }

  void operator()(const ToolResultBlock& block) {
    out += R"({"type":"tool_result")";
    AppendTextMember(out, "call_id", block.call_id);
    AppendKey(out, "output");
    AppendAny(out, block.output_json);
    out += block.is_error ? R"(,"is_error":true,"status":"failed"})"
                          : R"(,"is_error":false,"status":"completed"})";
  }

  void operator()(const ReasoningBlock& block) {
    out += R"({"type":"reasoning")";
    AppendTextMember(out, "summary", block.summary);
    AppendKey(out, "details");
    out += '[';
    for (size_t i = 0; i < block.details.size(); ++i) {
      if (i > 0) out += ',';
      AppendJsonString(out, block.details[i]);
    }
    out += ']';
    AppendTextMemberIfSet(out, "signature", block.signature);
    out += '}';
  }

  void operator()(const OtherBlock& block) {
    out += '{';
    AppendTextMember(out, "type", block.type.empty() ? "other" : block.type);
    AppendExtraMembers(out, block.json, {"type"});
    out += '}';
  }
};

// The calls again, in the shape of OpenAI's API, or null.
void AppendToolCalls(std::string& out, const Message& message) {
  bool any = false;
  for (const ToolCallBlock* call : message.ToolCalls()) {
    out += any ? ",{" : "[{";
    any = true;
    AppendTextMember(out, "id", call->id);
    AppendTextMember(out, "type", "function");
    AppendKey(out, "function");
    out += '{';
    AppendTextMember(out, "name", call->name);
    std::string arguments;
    AppendObject(arguments, call->arguments_json);
    AppendTextMember(out, "arguments", arguments);
    out += "}}";
  }
  out += any ? "]" : "null";
}

void AppendReasoning(std::string& out, const Message& message) {
  const std::string text =
      message.reasoning.empty() ? ReasoningOfBlocks(message) : message.reasoning;
  if (text.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, text);
  }
}

void AppendUsage(std::string& out, const std::optional<Usage>& usage) {
  if (!usage) {
    out += "null";
    return;
  }
  out += '{';
  auto member = [&](std::string_view key, int64_t tokens) {
    AppendKey(out, key);
    AppendNumber(out, tokens);
  };
  member("completion_tokens", usage->completion_tokens);
  member("prompt_tokens", usage->prompt_tokens);
  member("total_tokens", usage->total_tokens);
  member("reasoning_tokens", usage->reasoning_tokens);
  member("cache_creation_input_tokens", usage->cache_creation_input_tokens);
  member("cache_read_input_tokens", usage->cache_read_input_tokens);
  out += '}';
}

}  // namespace

std::string ToJsonText(const Message& message) {
  // Enough for all but the content of most messages.
  constexpr size_t kBytesBesideText = 320;
  size_t bytes = kBytesBesideText;
  for (const ContentBlock& block : message.content) {
    if (const auto* text = std::get_if<TextBlock>(&block)) bytes += text->text.size();
  }
  std::string out;
  out.reserve(bytes);
  out += R"({"message_id":)"sv;
  AppendJsonString(out, message.id);
  out += R"(,"role":")"sv;
  out += RoleName(message.role);
  out += R"(","content":[)"sv;
  for (size_t i = 0; i < message.content.size(); ++i) {
    if (i > 0) out += ',';
    std::visit(BlockWriter{out}, message.content[i]);
  }
  out += R"(],"delta":false,"tools_calls":)"sv;
  AppendToolCalls(out, message);
  out += R"(,"reasoning":)"sv;
  AppendReasoning(out, message);
  out += R"(,"timestamp":)"sv;
  AppendSeconds(out, message.timestamp);
  out += R"(,"metadata":)"sv;
  AppendObject(out, message.metadata_json);
  out += R"(,"usages":)"sv;
  AppendUsage(out, message.usage);
  out += R"(,"raw":null})"sv;
  return out;
}

json ToJson(const Message& message) {
  return std::move(ParseJson(ToJsonText(message), kOwnJsonLimits)).value();
}

DeltaPlaces AppendDeltaJson(std::string& out, std::string_view message_id,
                            std::string_view text_piece, std::string_view reasoning_piece,
                            int64_t unix_micros) {
  DeltaPlaces places;
  const auto append_piece = [&](std::string_view piece) {
    places.piece = out.size();
    AppendJsonString(out, piece);
    places.after_piece = out.size();
  };
  out += R"({"message_id":)";
  AppendJsonString(out, message_id);
  out += R"(,"role":"assistant","content":[)";
  if (!text_piece.empty()) {
    out += R"({"type":"text","text":)";
    append_piece(text_piece);
    out += R"(,"annotations":[]})";
  }
  out += R"(],"delta":true,"tools_calls":null,"reasoning":)";
  if (reasoning_piece.empty()) {
    out += "null";
  } else {
    append_piece(reasoning_piece);
  }
  out += R"(,"timestamp":)";
  places.time = out.size();
  out += SecondsText(unix_micros).shortest();
  places.after_time = out.size();
  out += R"(,"metadata":{},"usages":null,"raw":null})";
  return places;
}

}  // namespace agent_graph::message
