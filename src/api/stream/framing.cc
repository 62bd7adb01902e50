#include "api/stream/framing.h"

#include "base/letter_case.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kNdjson = "application/x-ndjson";

// Returns the text before `mark` without surrounding blanks, and removes both from `rest`.
std::string_view NextPiece(std::string_view& rest, char mark) {
  const size_t end = rest.find(mark);
  const std::string_view piece = Trim(rest.substr(0, end));
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return piece;
}

// Checks one entry of an Accept header; q=0 refuses the type.
bool AsksForNdjson(std::string_view entry) {
  if (!EqualsIgnoringCase(NextPiece(entry, ';'), kNdjson)) return false;
  while (!entry.empty()) {
    const std::string_view parameter = NextPiece(entry, ';');
    if (!StartsWithIgnoringCase(parameter, "q=")) continue;
    if (parameter.find_first_not_of("0.", 2) == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace

std::string_view EventIn(std::string_view json) {
  constexpr std::string_view kBefore = R"({"event":")";
  if (!json.starts_with(kBefore)) return "message";
  json.remove_prefix(kBefore.size());
  return json.substr(0, json.find('"'));
}

std::string_view ContentTypeOf(Framing framing) {
  return framing == Framing::kSse ? "text/event-stream" : kNdjson;
}

std::string Frame(Framing framing, const StreamLine& line) {
  if (framing == Framing::kNdjson) return std::string(line.json);
  std::string out;
  out.reserve(line.json.size() + line.cursor.size() + line.event.size() + 24);
  if (!line.cursor.empty()) {
    out += "id: ";
    out += line.cursor;
    out += '\n';
  }
  out += "event: ";
  out += line.event;
  out += "\ndata: ";
  out += line.json;  // JSON of one line, with its newline
  out += '\n';
  return out;
}

std::string_view HeartbeatOf(Framing framing) {
  return framing == Framing::kSse ? ":\n\n" : "\n";
}

bool AcceptsNdjson(std::string_view accept) {
  while (!accept.empty()) {
    if (AsksForNdjson(NextPiece(accept, ','))) return true;
  }
  return false;
}

}  // namespace agent_graph::api
