// agent-graph chat: a conversation with an agent in the terminal.
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/id_generator.h"
#include "base/json.h"
#include "base/percent_encoding.h"
#include "base/text.h"
#include "cli/api_client.h"
#include "cli/chat_view.h"
#include "cli/command.h"
#include "cli/terminal_text.h"

namespace agent_graph::cli {
namespace {

constexpr Option kChatOptions[] = {
    kUrlOption,
    {.name = "thread",
     .value = "ID",
     .help = "continues this conversation; the default is a new one"},
};

// One line without its end; nullopt at the end of the input.
std::optional<std::string> ReadLine(std::FILE* in) {
  char* line = nullptr;
  size_t capacity = 0;
  const ssize_t length = getline(&line, &capacity, in);
  std::optional<std::string> text;
  if (length >= 0) text = Trim(std::string_view(line, static_cast<size_t>(length)), "\r\n");
  std::free(line);
  return text;
}

// Messages for a request.
json UserMessages(const std::string& text) {
  return json::array({{{"role", "user"}, {"content", text}}});
}

json ToolMessages(json results) {
  return json::array({{{"role", "tool"}, {"content", std::move(results)}}});
}

json ResultBlock(const std::string& call_id, const std::string& text) {
  const Result<json> value = ParseJson(text);
  return {
      {"type", "tool_result"}, {"call_id", call_id}, {"output", value.ok() ? *value : json(text)}};
}

class Chat {
 public:
  Chat(ApiClient client, std::string thread_id, const Streams& streams)
      : client_(std::move(client)),
        thread_id_(std::move(thread_id)),
        streams_(streams),
        interactive_(isatty(fileno(streams.in)) != 0),
        view_(streams.out) {}

  Status Run() {
    if (interactive_) {
      std::fprintf(streams_.out, "Thread %s. Ctrl-D ends the conversation.\n", thread_id_.c_str());
    }
    AG_ASSIGN_OR_RETURN(json interrupt, InterruptOfThread());
    for (;;) {
      std::optional<json> input = NextInput(interrupt);
      if (!input) break;
      AG_RETURN_IF_ERROR(Send(*std::move(input)));
      AG_ASSIGN_OR_RETURN(interrupt, InterruptOfThread());
    }
    if (interactive_) std::fputc('\n', streams_.out);
    return last_failed_ ? Status(StatusCode::kGraph, "") : Status::Ok();
  }

 private:
  Status Send(json body) {
    view_.BeginRun();
    body["config"] = {{"thread_id", thread_id_}};
    const Status sent =
        client_.Stream("/v1/graph/stream", body, [&](std::string_view line) { view_.Show(line); });
    view_.EndLine();
    std::fflush(streams_.out);
    last_failed_ = view_.failed();
    return sent;
  }

  // The interrupt of the thread; null if it is not paused, or does not exist yet.
  Result<json> InterruptOfThread() {
    Result<json> data = client_.Get("/v1/threads/" + PercentEncode(thread_id_) + "/state");
    const StatusCode code = data.ok() ? StatusCode::kOk : data.status().code();
    // A thread without a message does not exist, and without a checkpointer there are none.
    if (code == StatusCode::kNotFound || code == StatusCode::kNotConfigured) return json();
    if (!data.ok()) return data;
    const json meta = data->value("state", json::object()).value("execution_meta", json::object());
    if (meta.value("is_interrupted", false)) return meta.value("interrupt", json::object());
    return json();
  }

  // Asks the user for what the thread needs next. Returns the members of a request that carry it;
  // nullopt: the conversation is over.
  std::optional<json> NextInput(const json& interrupt) {
    if (interrupt.is_object()) {
      const json data = interrupt.value("data", json());
      json input = json::object();
      json results = json::array();
      const bool go_on =
          !data.is_object() || (AskForDecisions(data, input) && AskForResults(data, results) &&
                                AskForAnswers(data, results));
      if (!go_on) return std::nullopt;
      if (!results.empty()) input["messages"] = ToolMessages(std::move(results));
      if (!input.empty()) return input;
      return AskForApproval(interrupt);
    }
    const std::optional<std::string> text = Ask("> ");
    if (!text) return std::nullopt;
    return json{{"messages", UserMessages(*text)}};
  }

  std::optional<json> AskForApproval(const json& interrupt) {
    for (const OpenCall& call : view_.open_calls()) {
      Say("? " + call.name + " " + call.arguments + " waits.");
    }
    const std::string reason = interrupt.value("reason", "");
    Say("? The agent asks: " + (reason.empty() ? "go on?" : reason));
    const std::optional<std::string> text = Ask("answer> ");
    if (!text) return std::nullopt;
    return json{{"messages", UserMessages(*text)}};
  }

  // This and the next two ask for one kind of input, if `data` of an interrupt has it. False: the
  // conversation is over.
  bool AskForResults(const json& data, json& results) {
    if (!data.contains("remote_tool_calls")) return true;
    for (const json& call : data.at("remote_tool_calls")) {
      const std::string id = call.value("id", "");
      Say("? You are the tool " + call.value("name", "") + " " + view_.ArgumentsOf(id));
      const std::optional<std::string> text = Ask("result (JSON or text)> ");
      if (!text) return false;
      results.push_back(ResultBlock(id, *text));
    }
    return true;
  }

  bool AskForAnswers(const json& data, json& results) {
    if (!data.contains("elicitations")) return true;
    for (const json& question : data.at("elicitations")) {
      Say("? " + question.value("tool", "") + " asks: " + question.value("message", ""));
      if (question.contains("url")) Say("  " + question.value("url", ""));
      if (question.contains("requested_schema")) Say("  " + DumpJson(question["requested_schema"]));
      const std::optional<std::string> text = Ask("answer (a JSON object; empty declines)> ");
      if (!text) return false;
      results.push_back({{"type", "tool_result"},
                         {"call_id", question.value("id", "")},
                         {"output", AnswerOf(*text)}});
    }
    return true;
  }

  // A call may have taken effect before its worker died. Accepts only a decision: a text that means
  // something else must not skip a payment or make it twice.
  bool AskForDecisions(const json& data, json& input) {
    if (!data.contains("undecided_tool_calls")) return true;
    for (const json& call : data.at("undecided_tool_calls")) {
      const std::string id = call.value("call_id", "");
      Say("? It is not known whether this call has taken effect: " + call.value("tool", "") + " " +
          DumpJson(call.value("arguments", json::object())) + " (" + id + ")");
      json decision;
      while (decision.is_null()) {
        const std::optional<std::string> text = Ask("retry, skip, or result JSON> ");
        if (!text) return false;
        decision = DecisionOf(*text);
        if (decision.is_null()) Say("Enter retry, skip, or result and its JSON.");
      }
      decision["call_id"] = id;
      input["tool_decisions"].push_back(std::move(decision));
    }
    return true;
  }

  // Null: the text is no decision.
  static json DecisionOf(const std::string& text) {
    constexpr std::string_view kResult = "result ";
    if (text == "retry" || text == "skip") return {{"action", text}};
    if (!text.starts_with(kResult)) return nullptr;
    const Result<json> result = ParseJson(text.substr(kResult.size()));
    if (!result.ok()) return nullptr;
    return {{"action", "result"}, {"result", *result}};
  }

  static json AnswerOf(const std::string& text) {
    if (text.empty()) return {{"action", "decline"}};
    const Result<json> content = ParseJson(text);
    json answer = {{"action", "accept"}};
    if (content.ok() && content->is_object()) answer["content"] = *content;
    return answer;
  }

  void Say(const std::string& line) {
    std::fprintf(streams_.out, "%s\n", TerminalText(line).c_str());
  }

  // Skips empty lines at the ordinary prompt only: an empty answer may have a meaning.
  std::optional<std::string> Ask(const char* prompt) {
    for (;;) {
      if (interactive_) std::fputs(prompt, streams_.out);
      std::fflush(streams_.out);
      std::optional<std::string> line = ReadLine(streams_.in);
      if (!line || !line->empty() || std::string_view(prompt) != "> ") return line;
    }
  }

  ApiClient client_;
  const std::string thread_id_;
  const Streams streams_;
  const bool interactive_;
  ChatView view_;
  bool last_failed_ = false;
};

Status RunChat(const Arguments& arguments, const Streams& streams) {
  std::string thread_id = arguments.Value("thread", "");
  if (thread_id.empty()) thread_id = IdGenerator().Next();
  return Chat(ApiClient::Of(arguments), thread_id, streams).Run();
}

}  // namespace

const Command kChatCommand = {
    .name = "chat",
    .operands_min = 0,
    .operands_max = 0,
    .summary = "talks with an agent in the terminal",
    .help =
        "Each line of the input is a message. The answer is shown while it is produced, with tool\n"
        "calls (->) and their results (<-). If the agent pauses, the next line is the answer to\n"
        "its question. With authentication, set AGENT_GRAPH_TOKEN to your token.\n",
    .options = kChatOptions,
    .run = RunChat,
};

}  // namespace agent_graph::cli
