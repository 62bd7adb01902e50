// Questions that a tool asks the user during a call. They pause the run; a later run, perhaps in
// another process, repeats the call with the answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json.h"
#include "base/status.h"

namespace agent_graph::tools {

inline constexpr size_t kQuestionsMax = 8;                  // asked by one call at once
inline constexpr size_t kQuestionBytesMax = 32 * 1024;      // bounds one question, as JSON
inline constexpr size_t kContinuationBytesMax = 64 * 1024;  // as JSON
inline constexpr int kQuestionRoundsMax = 16;               // pauses of one call

// One question: a form to fill in, or a web page to visit.
struct Question {
  std::string key;  // the tool's own id for the question
  std::string message;
  json schema;  // schema of the form's content, an object; null: visit `url` instead
  std::string url;

  json ToJson() const;
  // Returns nullopt if `value` is not a question (another version may have written it).
  static std::optional<Question> FromJson(const json& value);
};

// The questions of a tool that needs answers before it can continue.
struct CallPause {
  std::string asker;  // name shown to the user
  std::vector<Question> questions;
  json continuation;  // the tool's state, opaque to everything else
};

struct Answered {
  Question question;
  json answer;  // {"action": "accept" | "decline" | "cancel", "content"?: {…}}
};

// Passed to a call that may pause its run.
struct CallInput {
  // From the previous pause; null and empty in the first call.
  json continuation;
  std::vector<Answered> answers;
  // Set by the tool to pause: its output is ignored, and it is called again with the answers.
  std::optional<CallPause> pause;
};

// Checks a client's answer to `question` and fills in the form's defaults. Returns
// kInvalidArgument, with the reason, if the answer is malformed or its content does not match the
// schema.
Result<json> ReadAnswer(const Question& question, const json& value);

}  // namespace agent_graph::tools
