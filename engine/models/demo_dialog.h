// The dialog of the demo model: with the parameter `dialog` it understands some sentences, so that
// a first try without any key shows what an agent is: tool calls, a failing tool, long answers. It
// uses only tools that the request declares.
//
//   what time is it in Tokyo and Paris?   calls current_time, once for each city
//   what is 6 * 7?                        calls calculator; "what is 1 / 0?" makes it fail
//   remember that I like green tea        calls remember
//   what do you know about me?            calls recall
//   tell me a story                       a long answer
//   hello, help, what can you do?         says what to try
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "models/model.h"

namespace agent_graph::models {

// The calls that `sentence` asks for, without ids, or a text; both empty: the sentence is none of
// those above.
struct DialogAnswer {
  std::vector<ToolCallBlock> calls = {};
  std::string text = {};
};

DialogAnswer AnswerSentence(std::string_view sentence, const std::vector<ToolDeclaration>& tools,
                            std::chrono::sys_seconds now);

// A tool call with its result, from the conversation.
struct FinishedCall {
  const ToolCallBlock* call = nullptr;
  const ToolResultBlock* result = nullptr;
};

// Sentences that report the results of calls that `sentence` asked for.
std::string ReportResults(std::string_view sentence, const std::vector<FinishedCall>& finished,
                          std::chrono::sys_seconds now);

}  // namespace agent_graph::models
