#include "facades/openai/request_note.h"

#include <array>
#include <optional>

#include "agent_graph/json.h"
#include "api/http/validation.h"
#include "base/json.h"
#include "base/own_json.h"
#include "facades/openai/object_ids.h"
#include "facades/run/body_members.h"

namespace agent_graph::openai {
namespace {

// A larger note keeps only the members of a bounded size, and of the tools their names, by which
// the reader of the run knows the client's calls.
constexpr size_t kNoteBytesMax = 64 * 1024;
constexpr size_t kToolNameBytesMax = 64;

// A member of a response that repeats the request, with its value if the request lacks it.
struct RepeatedMember {
  const char* name;
  const char* fallback_json = "null";
};

constexpr std::array kRepeated = {
    RepeatedMember{"background", "false"},
    RepeatedMember{"conversation"},
    RepeatedMember{"include", "[]"},
    RepeatedMember{"instructions"},
    RepeatedMember{"max_output_tokens"},
    RepeatedMember{"max_tool_calls"},
    RepeatedMember{"metadata", "{}"},
    RepeatedMember{"parallel_tool_calls", "true"},
    RepeatedMember{"previous_response_id"},
    RepeatedMember{"prompt_cache_key"},
    RepeatedMember{"reasoning", R"({"effort":null,"summary":null})"},
    RepeatedMember{"safety_identifier"},
    RepeatedMember{"service_tier", R"("default")"},
    RepeatedMember{"temperature"},
    RepeatedMember{"text", R"({"format":{"type":"text"}})"},
    RepeatedMember{"tool_choice", R"("auto")"},
    RepeatedMember{"tools", "[]"},
    RepeatedMember{"top_logprobs", "0"},
    RepeatedMember{"top_p"},
    RepeatedMember{"truncation", R"("disabled")"},
    RepeatedMember{"user"},
};

// Members of a bounded size.
bool IsSmall(std::string_view name) {
  return name == "background" || name == "conversation" || name == "metadata" ||
         name == "parallel_tool_calls" || name == "previous_response_id";
}

// The members that the protocol requires of a tool. A tool that the request does not allow may have
// a longer name, but is never called.
json NamesOf(const json& tools) {
  json named = json::array();
  for (const json& tool : tools) {
    const std::string_view name = facades::TextOf(tool, "name");
    if (facades::TextOf(tool, "type") == "function" && name.size() <= kToolNameBytesMax) {
      named.push_back(
          {{"type", "function"}, {"name", name}, {"parameters", nullptr}, {"strict", nullptr}});
    }
  }
  return named;
}

std::string NoteWith(const json& body, bool is_stored, const std::string& thread_id,
                     bool with_large) {
  std::string note = is_stored ? R"({"store":true)" : R"({"store":false)";
  for (const RepeatedMember& member : kRepeated) {
    const json* value = api::FindMember(body, member.name);
    const bool is_shown = value != nullptr && (with_large || IsSmall(member.name));
    note += ",\"";
    note += member.name;
    note += "\":";
    if (std::string_view(member.name) == "conversation" && !thread_id.empty()) {
      note += DumpJson({{"id", thread_id}});
    } else if (value != nullptr && !with_large && std::string_view(member.name) == "tools") {
      note += DumpJson(NamesOf(*value));
    } else if (!is_shown) {
      note += member.fallback_json;
    } else {
      note += DumpJson(*value);
    }
  }
  return note + '}';
}

}  // namespace

std::string RequestNote(const json& body, bool is_stored, const std::string& thread_id) {
  std::string note = NoteWith(body, is_stored, thread_id, true);
  return note.size() <= kNoteBytesMax ? note : NoteWith(body, is_stored, thread_id, false);
}

const std::string& UnknownRequestNote() {
  static const std::string note = RequestNote({{"background", true}}, true, "");
  return note;
}

ResponseOrigin OriginOf(std::string_view note_json, const std::string& thread_id) {
  const Result<json> note = ParseJson(note_json, kOwnJsonLimits);
  if (!note.ok() || !note->is_object()) return ResponseOrigin::kConversation;
  if (api::FindMember(*note, "conversation") != nullptr) return ResponseOrigin::kConversation;
  const std::optional<ResponseName> previous =
      ParseResponseId(facades::TextOf(*note, "previous_response_id"));
  const bool follows = previous && previous->thread_id == thread_id;
  return follows ? ResponseOrigin::kResponse : ResponseOrigin::kNewThread;
}

}  // namespace agent_graph::openai
