// Questions of MCP servers to the user (elicitation), in both protocol eras.
//
// Without sessions (2026-07-28) a server replies to a call with its questions; any worker repeats
// the call with the answers and the state that the server has sent.
//
// In a session the server sends a request during the call. The call cannot stay open: the run ends
// when it pauses, and the next run may be in another process. The client therefore closes the
// stream. If the stream's events have ids, the next run sends the answer to the session and resumes
// the stream behind the question. Otherwise, if the call is idempotent, it is cancelled and
// repeated with the answer at hand. In all other cases the question gets the answer "cancel".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/status.h"
#include "tools/call/call_input.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools::mcp {

inline constexpr char kElicit[] = "elicitation/create";
inline constexpr int64_t kUrlElicitationRequired = -32042;  // error code of the session era

// Returns the client's capabilities for a call that may ask the user.
json ElicitationCapability();

// Reads `params` of elicitation/create. Returns kInvalidArgument if it cannot be shown to a user.
Result<Question> ReadElicitation(std::string key, const json& params);

// Replaces `secrets` by "***" in what the user gets to see. The host of a page stays.
void CleanQuestion(const std::vector<std::string>& secrets, Question& question);

// A result of type "input_required".
struct InputRequired {
  std::vector<Question> questions;  // empty: repeat the call at once
  json state;                       // the server's opaque state; null: none
};
// Returns kUnavailable if it is malformed, or requires a capability that was not offered.
Result<InputRequired> ReadInputRequired(const json& result);

// Reads the data of an error with code kUrlElicitationRequired; returns an empty list if it names
// no page.
std::vector<Question> ReadRequiredPages(const json& data);

// How a paused call continues.
struct Continuation {
  // kRequired: the server requires the user to visit pages before the call is repeated.
  enum class Kind { kStart, kState, kStream, kRepeat, kRequired };
  Kind kind = Kind::kStart;
  json state;  // kState: the server's state; null: none

  // kStream: the call's position in its session.
  std::string session_id;
  std::string revision;
  int64_t call_id = 0;
  json question_id;
  std::string last_event_id;

  // kRepeat: the questions that the server will ask again, with their answers.
  struct Known {
    std::string digest;  // digest of the question
    json answer;
  };
  std::vector<Known> known;

  json ToJson() const;
  // Returns kStart if `value` is not a continuation.
  static Continuation FromJson(const json& value);
};

// Returns a digest that identifies a question when a repeated call asks it again.
std::string DigestOf(const Question& question);

// Decides how a call in a session answers the server's questions. Lives as long as the call. Not
// thread-safe.
class SessionQuestions {
 public:
  struct Options {
    bool may_pause = false;   // the run can pause
    bool may_repeat = false;  // the call is idempotent
    std::vector<Continuation::Known> known;
    // Returns the secrets that are removed from questions; null: there are none.
    std::function<std::vector<std::string>()> secrets;
  };
  explicit SessionQuestions(Options options) : options_(std::move(options)) {}

  // The call's position in its stream when a question arrives. `last_event_id` empty: the stream
  // cannot be resumed.
  struct Place {
    std::string session_id;
    std::string revision;
    int64_t call_id = 0;
    std::string last_event_id;
  };
  // Returns the answer to send now; null if the call pauses instead. See paused().
  json Answer(const json& request, const Place& place);

  bool paused() const { return question_.has_value(); }
  // True if the call must be cancelled now and repeated later.
  bool gave_up() const { return continuation_.kind == Continuation::Kind::kRepeat; }
  const Question& question() const { return *question_; }
  const Continuation& continuation() const { return continuation_; }
  // The reason why a question was cancelled; empty: none was.
  const std::string& cancelled() const { return cancelled_; }

 private:
  const json* TakeKnown(const std::string& digest);

  const Options options_;
  std::vector<bool> used_;  // parallel to options_.known
  std::optional<Question> question_;
  Continuation continuation_;
  std::string cancelled_;
};

}  // namespace agent_graph::tools::mcp
