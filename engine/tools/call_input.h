// Questions that a tool asks the user while it is called. The run pauses with them, and a later run
// goes on with the call and the answers, perhaps in another process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json.h"
#include "base/status.h"

namespace agent_graph::tools {

inline constexpr size_t kQuestionsMax = 8;                  // of one call at once
inline constexpr size_t kQuestionBytesMax = 32 * 1024;      // of one question as JSON
inline constexpr size_t kContinuationBytesMax = 64 * 1024;  // as JSON
inline constexpr int kQuestionRoundsMax = 16;               // pauses of one call

// One question: a form to fill in, or a page to visit.
struct Question {
  std::string key;  // chosen by the tool
  std::string message;
  json schema;  // schema of the form's content, an object; null: visit `url` instead
  std::string url;

  json ToJson() const;
  // nullopt: `value` is not a question (another version may have written it).
  static std::optional<Question> FromJson(const json& value);
};

// The questions that a tool asks before it goes on.
struct CallPause {
  std::string asker;  // shown to the user
  std::vector<Question> questions;
  json continuation;  // the tool's state, opaque to everybody else
};

struct Answered {
  Question question;
  json answer;  // {"action": "accept" | "decline" | "cancel", "content"?: {…}}
};

// Given to a call that may pause its run.
struct CallInput {
  // From the pause before; null and empty at the first call.
  json continuation;
  std::vector<Answered> answers;
  // Set by the tool: its output is ignored, and it is called again with the answers.
  std::optional<CallPause> pause;
};

// Checks a client's answer to `question` and fills in the defaults of the form.
// kInvalidArgument: it is malformed, or its content does not fit the schema; the message says why.
Result<json> ReadAnswer(const Question& question, const json& value);

}  // namespace agent_graph::tools
