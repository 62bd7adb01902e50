#include "tools/mcp/protocol/elicitation.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "base/sha256.h"
#include "base/text.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr size_t kKeyBytesMax = 256;
constexpr size_t kMessageBytesMax = 8 * 1024;
constexpr size_t kUrlBytesMax = 4 * 1024;
constexpr size_t kRequestIdBytesMax = 1024;

std::string TextAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A person opens the URL, so only web pages are allowed.
bool IsPage(std::string_view url) {
  return url.size() <= kUrlBytesMax &&
         (StartsWithIgnoringCase(url, "https://") || StartsWithIgnoringCase(url, "http://")) &&
         std::none_of(url.begin(), url.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= 32 || c == 127; });
}

json Refusal(const json& request, const std::string& problem) {
  return {{"jsonrpc", "2.0"},
          {"id", request.value("id", json())},
          {"error", {{"code", kInvalidParams}, {"message", problem}}}};
}

json Reply(const json& request, const json& result) {
  return {{"jsonrpc", "2.0"}, {"id", request.value("id", json())}, {"result", result}};
}

}  // namespace

json ElicitationCapability() {
  return {{"elicitation", {{"form", json::object()}, {"url", json::object()}}}};
}

Result<Question> ReadElicitation(std::string key, const json& params) {
  if (!params.is_object() || DumpJson(params).size() > kQuestionBytesMax) {
    return InvalidArgument("a question is not valid, or too large");
  }
  Question question;
  question.key = std::move(key);
  question.message = CutAtCharacter(TextAt(params, "message"), kMessageBytesMax);
  const std::string mode = params.contains("mode") ? TextAt(params, "mode") : "form";
  if (mode == "url") {
    question.url = TextAt(params, "url");
    if (!IsPage(question.url)) return InvalidArgument("a question has no URL of a page");
    return question;
  }
  question.schema = params.value("requestedSchema", json());
  if (mode != "form" || !question.schema.is_object()) {
    return InvalidArgument("a question is neither a form nor a page");
  }
  return question;
}

void CleanQuestion(const std::vector<std::string>& secrets, Question& question) {
  BlotOut(secrets, question.message);
  BlotOut(secrets, question.schema);
  if (question.url.empty()) return;
  // The server's own address may come from a variable, and its pages are at that address.
  const size_t host = question.url.find("://") + 3;
  std::string page =
      question.url.substr(std::min(question.url.find_first_of("/?#", host), question.url.size()));
  question.url.resize(question.url.size() - page.size());
  BlotOut(secrets, page);
  question.url += page;
}

Result<InputRequired> ReadInputRequired(const json& result) {
  InputRequired required;
  required.state = result.value("requestState", json());
  if (!required.state.is_null() &&
      (!required.state.is_string() ||
       required.state.get_ref<const std::string&>().size() > kContinuationBytesMax / 2)) {
    return Unavailable("the server's state of the call is not valid, or too large");
  }
  const json requests = result.value("inputRequests", json());
  if (requests.is_null() && !required.state.is_null()) return required;
  if (!requests.is_object() || requests.empty() || requests.size() > kQuestionsMax) {
    return Unavailable("the server asks for input in a way that is not valid");
  }
  for (const auto& [key, request] : requests.items()) {
    if (!request.is_object() || TextAt(request, "method") != kElicit || key.size() > kKeyBytesMax) {
      return Unavailable("the server asks for input that was not offered");
    }
    Result<Question> question = ReadElicitation(key, request.value("params", json()));
    if (!question.ok()) return Unavailable("the server asks: " + question.status().message());
    required.questions.push_back(*std::move(question));
  }
  return required;
}

std::vector<Question> ReadRequiredPages(const json& data) {
  std::vector<Question> pages;
  const json list = data.is_object() ? data.value("elicitations", json()) : json();
  if (!list.is_array()) return pages;
  for (const json& params : list) {
    const Result<Question> page = ReadElicitation("", params);
    if (page.ok() && page->schema.is_null() && pages.size() < kQuestionsMax) pages.push_back(*page);
  }
  return pages;
}

json Continuation::ToJson() const {
  switch (kind) {
    case Kind::kStart:
      break;
    case Kind::kState:
      return {{"kind", "state"}, {"state", state}};
    case Kind::kStream:
      return {{"kind", "stream"},   {"session_id", session_id},   {"revision", revision},
              {"call_id", call_id}, {"question_id", question_id}, {"last_event_id", last_event_id}};
    case Kind::kRequired:
      return {{"kind", "required"}};
    case Kind::kRepeat: {
      json list = json::array();
      for (const Known& each : known)
        list.push_back({{"digest", each.digest}, {"answer", each.answer}});
      return {{"kind", "repeat"}, {"known", std::move(list)}};
    }
  }
  return nullptr;
}

Continuation Continuation::FromJson(const json& value) {
  Continuation continuation;
  if (!value.is_object()) return continuation;
  const std::string kind = TextAt(value, "kind");
  if (kind == "state") {
    continuation.kind = Kind::kState;
    continuation.state = value.value("state", json());
  } else if (kind == "stream") {
    continuation.kind = Kind::kStream;
    continuation.session_id = TextAt(value, "session_id");
    continuation.revision = TextAt(value, "revision");
    const json call_id = value.value("call_id", json());
    continuation.call_id = call_id.is_number_integer() ? call_id.get<int64_t>() : 0;
    continuation.question_id = value.value("question_id", json());
    continuation.last_event_id = TextAt(value, "last_event_id");
  } else if (kind == "required") {
    continuation.kind = Kind::kRequired;
  } else if (kind == "repeat") {
    continuation.kind = Kind::kRepeat;
    for (const json& each : value.value("known", json::array())) {
      if (!each.is_object()) continue;
      continuation.known.push_back({TextAt(each, "digest"), each.value("answer", json())});
    }
  }
  return continuation;
}

std::string DigestOf(const Question& question) {
  Question unnamed = question;
  unnamed.key.clear();
  return Sha256Hex(DumpJson(unnamed.ToJson()));
}

// A question that is asked twice gets the two answers in order.
const json* SessionQuestions::TakeKnown(const std::string& digest) {
  used_.resize(options_.known.size());
  for (size_t i = 0; i < options_.known.size(); ++i) {
    if (used_[i] || options_.known[i].digest != digest) continue;
    used_[i] = true;
    return &options_.known[i].answer;
  }
  return nullptr;
}

json SessionQuestions::Answer(const json& request, const Place& place) {
  Result<Question> question = ReadElicitation("", request.value("params", json()));
  const json id = request.value("id", json());
  if (DumpJson(id).size() > kRequestIdBytesMax) return Refusal(request, "the id is too long");
  if (!question.ok()) return Refusal(request, question.status().message());
  if (options_.secrets) CleanQuestion(options_.secrets(), *question);
  if (const json* known = TakeKnown(DigestOf(*question))) return Reply(request, *known);
  const bool can_resume = !place.last_event_id.empty() && !place.session_id.empty();
  if (options_.may_pause && can_resume) {
    continuation_.kind = Continuation::Kind::kStream;
    continuation_.session_id = place.session_id;
    continuation_.revision = place.revision;
    continuation_.call_id = place.call_id;
    continuation_.question_id = id;
    continuation_.last_event_id = place.last_event_id;
  } else if (options_.may_pause && options_.may_repeat) {
    continuation_.kind = Continuation::Kind::kRepeat;
    continuation_.known = options_.known;
  } else {
    cancelled_ = options_.may_pause
                     ? "its stream cannot be resumed, and the call must not be made twice"
                     : "the run cannot pause";
    return Reply(request, {{"action", "cancel"}});
  }
  question_ = *std::move(question);
  return nullptr;
}

}  // namespace agent_graph::tools::mcp
