// Questions of MCP servers to the user (elicitation), in both eras.
//
// Without sessions (2026-07-28) a server answers a call with its questions; any worker makes the
// call again with the answers and the state that the server sent along.
//
// In a session it sends a request during the call. The call cannot be held open: the run ends when
// it pauses, and the next one may be in another process. So the client leaves the stream, and the
// next run sends the answer to the session and resumes the stream behind the question, if its
// events have ids. Otherwise the call is cancelled and made again with the answer at hand, if
// making it twice does no harm. Any other question gets the answer "cancel".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/status.h"
#include "tools/call_input.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools::mcp {

inline constexpr char kElicit[] = "elicitation/create";
inline constexpr int64_t kUrlElicitationRequired = -32042;  // an error of the era of sessions

// The client's capabilities when a call may ask the user.
json ElicitationCapability();

// Reads `params` of elicitation/create. kInvalidArgument: it cannot be shown to a user.
Result<Question> ReadElicitation(std::string key, const json& params);

// A result with the type "input_required".
struct InputRequired {
  std::vector<Question> questions;  // empty: the call is made again at once
  json state;                       // the server's, opaque; null: none
};
// kUnavailable: it is not valid, or wants something that was not offered.
Result<InputRequired> ReadInputRequired(const json& result);

// Reads the data of an error with the code kUrlElicitationRequired; empty: it names no page.
std::vector<Question> ReadRequiredPages(const json& data);

// The place where a paused call continues.
struct Continuation {
  // kRequired: the server wants pages visited before it is called again.
  enum class Kind { kStart, kState, kStream, kRepeat, kRequired };
  Kind kind = Kind::kStart;
  json state;  // kState: the server's; null: none

  // kStream: the call's place in its session.
  std::string session_id;
  std::string revision;
  int64_t call_id = 0;
  json question_id;
  std::string last_event_id;

  // kRepeat: the questions that the server will ask again, with their answers.
  struct Known {
    std::string digest;  // of the question
    json answer;
  };
  std::vector<Known> known;

  json ToJson() const;
  // kStart when `value` is none.
  static Continuation FromJson(const json& value);
};

// Identifies a question that is asked again in a repeated call.
std::string DigestOf(const Question& question);

// Decides how a call in a session answers the server's questions. Lives as long as the call.
class SessionQuestions {
 public:
  struct Options {
    bool may_pause = false;   // the run can pause
    bool may_repeat = false;  // the call can be made twice
    std::vector<Continuation::Known> known;
  };
  explicit SessionQuestions(Options options) : options_(std::move(options)) {}

  // The place in the call's stream when a question comes; `last_event_id` empty: the stream cannot
  // be resumed.
  struct Place {
    std::string session_id;
    std::string revision;
    int64_t call_id = 0;
    std::string last_event_id;
  };
  // The answer to send now; null: none, because the call pauses. See paused().
  json Answer(const json& request, const Place& place);

  bool paused() const { return question_.has_value(); }
  // The call is cancelled, and will be made again.
  bool gave_up() const { return continuation_.kind == Continuation::Kind::kRepeat; }
  const Question& question() const { return *question_; }
  const Continuation& continuation() const { return continuation_; }
  // The reason why a question was cancelled; empty: none was.
  const std::string& cancelled() const { return cancelled_; }

 private:
  const json* TakeKnown(const std::string& digest);

  const Options options_;
  std::vector<bool> used_;  // of options_.known
  std::optional<Question> question_;
  Continuation continuation_;
  std::string cancelled_;
};

}  // namespace agent_graph::tools::mcp
