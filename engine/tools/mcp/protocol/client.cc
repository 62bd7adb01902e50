#include "tools/mcp/protocol/client.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "base/json.h"
#include "runtime/runtime.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::milliseconds kFreshMax = std::chrono::hours(24);
// Limits for a server that requests the call again without asking for input.
constexpr int kStateRoundsMax = 8;
constexpr std::chrono::milliseconds kStatePauseMin{100};

// Keeps the shortest time that the pages state; 0 if no page states one.
void TakeFreshness(const json& result, bool first_page, std::chrono::milliseconds& fresh) {
  const json stated = result.value("ttlMs", json());
  const int64_t milliseconds =
      stated.is_number_integer() ? std::clamp<int64_t>(stated.get<int64_t>(), 0, kFreshMax.count())
                                 : 0;
  const std::chrono::milliseconds page(milliseconds);
  fresh = first_page ? page : std::min(fresh, page);
}

// Returns the answers to questions that the server will ask again in a repeated call.
std::vector<Continuation::Known> KnownAnswers(const Continuation& before,
                                              const std::vector<Answered>& answers) {
  std::vector<Continuation::Known> known = before.known;
  if (before.kind != Continuation::Kind::kRepeat) return known;
  for (const Answered& each : answers) known.push_back({DigestOf(each.question), each.answer});
  return known;
}

bool AllAccepted(const std::vector<Answered>& answers) {
  return std::all_of(answers.begin(), answers.end(), [](const Answered& each) {
    return each.answer.value("action", json()) == "accept";
  });
}

// Adds the answers and the server's state to a repeated call.
void AddAnswers(const Continuation& before, const std::vector<Answered>& answers, json& params) {
  params.erase("inputResponses");
  params.erase("requestState");
  for (const Answered& each : answers) {
    params["inputResponses"][each.question.key] = each.answer;
  }
  if (!before.state.is_null()) params["requestState"] = before.state;
}

// The name stays: the server is called by it.
void CleanTool(const std::vector<std::string>& secrets, json& tool) {
  if (!tool.is_object()) return;
  for (auto& [key, member] : tool.items()) {
    if (key != "name") BlotOut(secrets, member);
  }
}

}  // namespace

Result<ListedTools> Client::ListTools(const WaitOptions& wait) {
  ListedTools listed;
  Outgoing outgoing{.method = "tools/list"};
  size_t bytes = 0;
  for (size_t page = 0; page < kListPagesMax; ++page) {
    AG_ASSIGN_OR_RETURN(RpcReply reply, Request(outgoing, wait));
    if (reply.error) return reply.error->ToStatus();
    const auto list = reply.result.find("tools");
    if (list == reply.result.end() || !list->is_array()) {
      return Status(StatusCode::kUnavailable, "the list of tools has no \"tools\"");
    }
    bytes += DumpJson(*list).size();
    if (listed.tools.size() + list->size() > kListedToolsMax || bytes > kListBytesMax) {
      return Status(StatusCode::kResourceExhausted, "the list of tools is too long");
    }
    const std::vector<std::string> hidden = secrets();
    for (json& tool : *list) {
      CleanTool(hidden, tool);
      listed.tools.push_back(std::move(tool));
    }
    TakeFreshness(reply.result, page == 0, listed.fresh);
    const auto cursor = reply.result.find("nextCursor");
    if (cursor == reply.result.end() || !cursor->is_string()) {
      listed.marks_headers = marks_headers();
      return listed;
    }
    outgoing.params["cursor"] = *cursor;
  }
  return Status(StatusCode::kResourceExhausted,
                "the list of tools has more than " + std::to_string(kListPagesMax) + " pages");
}

ToolReply Client::Paused(const Continuation& continuation, std::vector<Question> questions,
                         CallInput& input) const {
  for (Question& question : questions) CleanQuestion(secrets(), question);
  input.pause = CallPause{"", std::move(questions), continuation.ToJson()};
  return {};
}

Result<RpcReply> Client::ContinueCall(const Continuation&, const json&, const Outgoing&,
                                      const WaitOptions&) {
  return Unavailable("a call that was paused cannot go on here");
}

Result<ToolReply> Client::CallTool(ToolCall call, const WaitOptions& wait) {
  static const std::vector<Answered> kNone;
  const std::vector<Answered>& answers = call.input != nullptr ? call.input->answers : kNone;
  const Continuation before =
      call.input != nullptr ? Continuation::FromJson(call.input->continuation) : Continuation();
  if (before.kind == Continuation::Kind::kRequired && !AllAccepted(answers)) {
    return Status(StatusCode::kInvalidArgument,
                  "the user did not visit the page that the tool needs");
  }
  SessionQuestions questions({.may_pause = call.input != nullptr,
                              .may_repeat = call.may_repeat,
                              .known = KnownAnswers(before, answers),
                              .secrets = [this] { return secrets(); }});
  Outgoing outgoing{.method = kCallTool,
                    .params = {{"name", call.name}, {"arguments", call.arguments}},
                    .name = call.name,
                    .headers = std::move(call.headers),
                    .questions = &questions,
                    .may_pause = call.input != nullptr,
                    .memory = call.memory};
  if (before.kind == Continuation::Kind::kState) AddAnswers(before, answers, outgoing.params);
  AG_ASSIGN_OR_RETURN(ToolReply reply, CallUntilComplete(std::move(outgoing), before, call, wait));
  reply.cancelled = questions.cancelled();
  return reply;
}

Result<ToolReply> Client::CallUntilComplete(Outgoing outgoing, const Continuation& before,
                                            const ToolCall& call, const WaitOptions& wait) {
  const bool goes_on = before.kind == Continuation::Kind::kStream && call.input != nullptr &&
                       !call.input->answers.empty();
  std::chrono::milliseconds pause = kStatePauseMin;
  for (int round = 0; round < kStateRoundsMax; ++round) {
    AG_ASSIGN_OR_RETURN(
        RpcReply reply,
        goes_on && round == 0
            ? ContinueCall(before, call.input->answers.front().answer, outgoing, wait)
            : Request(outgoing, wait));
    if (reply.stopped)
      return Paused(outgoing.questions->continuation(), {outgoing.questions->question()},
                    *call.input);
    if (reply.error) {
      std::vector<Question> pages;
      if (call.input != nullptr && reply.error->code == kUrlElicitationRequired) {
        pages = ReadRequiredPages(reply.error->data);
      }
      if (pages.empty()) return reply.error->ToStatus();
      Continuation required;
      required.kind = Continuation::Kind::kRequired;
      return Paused(required, std::move(pages), *call.input);
    }
    const json type = reply.result.value("resultType", json("complete"));
    if (type == "complete") {
      BlotOut(secrets(), reply.result);
      return ToolReply{.result = std::move(reply.result)};
    }
    if (type != "input_required") {
      return Unavailable("the server's result is of an unknown type");
    }
    AG_ASSIGN_OR_RETURN(InputRequired required, ReadInputRequired(reply.result));
    Continuation next;
    next.kind = Continuation::Kind::kState;
    next.state = required.state;
    if (!required.questions.empty()) {
      if (call.input == nullptr)
        return Unavailable("the server asks for input that was not offered");
      return Paused(next, std::move(required.questions), *call.input);
    }
    // The server requests only that the call is repeated.
    AddAnswers(next, {}, outgoing.params);
    AG_RETURN_IF_ERROR(runtime::SleepFor(pause, &wait.cancellation));
    pause *= 2;
  }
  return Unavailable("the server wants to be asked again and again");
}

}  // namespace agent_graph::tools::mcp
