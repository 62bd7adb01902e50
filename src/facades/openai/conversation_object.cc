#include "facades/openai/conversation_object.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own_json.h"
#include "facades/openai/deleted_responses.h"

namespace agent_graph::openai {
namespace {

constexpr std::array kNamesOfService = {state::kResumptionHandle, kDeletedResponses};
constexpr size_t kNameCharactersMax = 64;
constexpr size_t kTextCharactersMax = 512;

bool IsNameOfService(std::string_view name) {
  return std::ranges::find(kNamesOfService, name) != kNamesOfService.end();
}

json MetadataOf(const std::string& stored_json) {
  json metadata = json::object();
  Result<json> stored = ParseJson(stored_json, kOwnJsonLimits);
  if (!stored.ok() || !stored->is_object()) return metadata;
  for (auto& [name, value] : stored->items()) {
    if (value.is_string() && !IsNameOfService(name)) metadata[name] = std::move(value);
  }
  return metadata;
}

// In UTF-8, each character has one byte that does not continue another.
size_t CharactersIn(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string AtMost(size_t characters) {
  return "must have at most " + std::to_string(characters) + " characters";
}

}  // namespace

std::string ConversationJson(const state::ThreadRecord& thread) {
  return DumpJson({{"id", thread.thread_id},
                   {"object", "conversation"},
                   {"created_at", thread.created_micros / kMicrosPerSecond},
                   {"metadata", MetadataOf(thread.metadata_json)}});
}

void CheckConversationMetadata(const json& body, api::Problems& problems) {
  const json* metadata = api::FindMember(body, "metadata");
  if (metadata == nullptr) return;
  for (const auto& [name, text] : metadata->items()) {
    if (IsNameOfService(name)) {
      problems.Add({"body", "metadata", name}, "is a name that the service uses itself",
                   api::ProblemType::kValue);
    } else if (CharactersIn(name) > kNameCharactersMax) {
      problems.Add({"body", "metadata"}, "has a name that " + AtMost(kNameCharactersMax),
                   api::ProblemType::kTooLong);
    } else if (CharactersIn(text.get_ref<const std::string&>()) > kTextCharactersMax) {
      problems.Add({"body", "metadata", name}, AtMost(kTextCharactersMax),
                   api::ProblemType::kTooLong);
    }
  }
}

json MetadataChange(const std::string& stored_json, const json* metadata) {
  json change = MetadataOf(stored_json);
  for (json& value : change) value = nullptr;  // removed by the patch
  if (metadata != nullptr) change.update(*metadata);
  return change;
}

}  // namespace agent_graph::openai
