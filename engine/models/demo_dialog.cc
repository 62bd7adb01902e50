#include "models/demo_dialog.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "models/demo_clock.h"
#include "models/tool_output.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kPunctuation = " \t\r\n.,;:!?";

constexpr std::string_view kStory =
    "Once upon a time there was a web server that answered every question with a file. It was "
    "fast, "
    "and it was content, until one evening somebody asked it: \"What is the weather like?\" The "
    "server looked through its folders and found a page about the weather of last year.\n\n"
    "So it asked a language model. The model knew many things, but it had no window. \"I could "
    "call "
    "somebody who has one,\" it said, \"if you can make the call.\" That was easy for a server. It "
    "called a tool, the tool answered with two numbers, and the model made a sentence of them.\n\n"
    "Word had got around by the next morning. Thousands came, and each of them read slowly. The "
    "old "
    "way would have been to keep everything that was said in memory until the last reader was "
    "done. "
    "The server did something simpler: where a reader did not keep up, it stopped listening to the "
    "model, and the model waited. Nobody else noticed.\n\n"
    "Then the power failed. When the lights came back, the server opened its log, found every "
    "conversation where it had been, and said to the first visitor: \"You had asked about the "
    "weather. It has cleared up.\"";

// The sentence in lower case, without white space and punctuation around it.
std::string Simplify(std::string_view sentence) {
  return LowerCase(Trim(sentence, kPunctuation));
}

bool Contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

bool IsDeclared(const std::vector<ToolDeclaration>& tools, std::string_view name) {
  return std::ranges::find(tools, name, &ToolDeclaration::name) != tools.end();
}

ToolCallBlock CallOf(std::string name, const json& arguments) {
  ToolCallBlock call;
  call.name = std::move(name);
  call.arguments_json = DumpJson(arguments);
  return call;
}

// Removes the first of these beginnings that `text` has.
template <size_t N>
bool TakeBeginning(std::string_view& text, const std::array<std::string_view, N>& beginnings) {
  for (const std::string_view beginning : beginnings) {
    if (!StartsWithIgnoringCase(text, beginning)) continue;
    text.remove_prefix(beginning.size());
    return true;
  }
  return false;
}

// "what is 6 * 7?" → "6 * 7"; empty if the sentence is no calculation.
std::string CalculationIn(std::string_view sentence) {
  constexpr std::array<std::string_view, 5> kBeginnings = {"what is ", "what's ", "how much is ",
                                                           "calculate ", "compute "};
  sentence = Trim(sentence, kPunctuation);
  TakeBeginning(sentence, kBeginnings);
  const size_t digit = sentence.find_first_of("0123456789");
  const size_t sign = sentence.find_last_of("+-*/%^");
  const bool is_expression =
      sentence.find_first_not_of("0123456789. +-*/%^()") == std::string_view::npos &&
      sign != std::string_view::npos && digit < sign;
  return is_expression ? std::string(sentence) : "";
}

bool AsksForTime(const std::string& simple) {
  return Contains(simple, "what time") || Contains(simple, "the time") ||
         Contains(simple, "what day") || Contains(simple, "the date");
}

std::vector<ToolCallBlock> TimeCalls(std::string_view sentence, std::chrono::sys_seconds now) {
  std::vector<ToolCallBlock> calls;
  for (const CityClock& clock : CitiesIn(sentence, now)) {
    calls.push_back(CallOf("current_time", {{"utc_offset_minutes", clock.utc_offset_minutes}}));
  }
  if (calls.empty()) calls.push_back(CallOf("current_time", json::object()));
  return calls;
}

// "Remember that I like green tea." → "I like green tea"; empty if it is another sentence.
std::string WorthRemembering(std::string_view sentence) {
  constexpr std::array<std::string_view, 4> kBeginnings = {
      "remember that ", "please remember that ", "remember: ", "remember "};
  sentence = Trim(sentence, kPunctuation);
  return TakeBeginning(sentence, kBeginnings) ? std::string(sentence) : "";
}

bool AsksForMemories(const std::string& simple) {
  return Contains(simple, "what do you know about me") ||
         Contains(simple, "what do you remember") || Contains(simple, "what did i tell you");
}

bool AsksForStory(const std::string& simple) {
  return Contains(simple, "a story") || Contains(simple, "long answer");
}

bool IsGreeting(const std::string& simple) {
  constexpr std::array<std::string_view, 6> kGreetings = {
      "hello", "hi", "hey", "help", "what can you do", "who are you"};
  return std::ranges::find(kGreetings, simple) != kGreetings.end();
}

std::string Greeting(const std::vector<ToolDeclaration>& tools) {
  struct Suggestion {
    std::string_view tool;
    std::string_view text;
  };
  constexpr Suggestion kSuggestions[] = {
      {"current_time", "- What time is it in Tokyo and New York?"},
      {"calculator", "- What is 6 * 7? (and: What is 1 / 0?)"},
      {"remember", "- Remember that I like green tea."},
      {"recall", "- What do you know about me?"},
  };
  std::string text =
      "Hello! I am the demo model: I need no key, and I know a few sentences. Try:\n";
  for (const Suggestion& suggestion : kSuggestions) {
    if (IsDeclared(tools, suggestion.tool)) text.append("\n").append(suggestion.text);
  }
  text += "\n- Tell me a story.\n\nTo everything else I answer with your own words.";
  return text;
}

// "2026-06-16T14:00:00" → "14:00 on 2026-06-16"; the text itself if it has another form.
std::string ClockText(const std::string& iso) {
  constexpr size_t kDateSize = 10;  // 2026-06-16
  constexpr size_t kTimeSize = 5;   // 14:00
  if (iso.size() < kDateSize + 1 + kTimeSize || iso[kDateSize] != 'T') return iso;
  return iso.substr(kDateSize + 1, kTimeSize) + " on " + iso.substr(0, kDateSize);
}

// Takes the city of the answer from `clocks`.
std::string ReportTime(const json& output, std::vector<CityClock>& clocks) {
  const std::string time = ClockText(output.value("time", ""));
  const int offset = output.value("utc_offset_minutes", 0);
  const auto named = std::ranges::find(clocks, offset, &CityClock::utc_offset_minutes);
  if (named == clocks.end()) return "It is " + time + " (UTC).";
  const std::string city = named->city;
  clocks.erase(named);
  return "In " + city + " it is " + time + ".";
}

std::string ReportMemories(const json& output) {
  std::string text;
  for (const json& memory : output.value("memories", json::array())) {
    text += "\n- " + memory.value("content", "");
  }
  if (text.empty()) return "I know nothing about you yet. Try: Remember that I like green tea.";
  return "This is what I remember:\n" + text;
}

// The text of a failed result; tools report failures as text or as {"error": text}.
std::string FailureText(const ToolResultBlock& result) {
  const Result<json> output = ParseJson(result.output_json);
  if (output.ok() && output->is_object() && output->contains("error")) {
    const json& error = output->at("error");
    return error.is_string() ? error.get<std::string>() : DumpJson(error);
  }
  return ToolValueText(result);
}

// Throws if a tool of the same name as one of the samples' has results of another form.
std::string ReportSuccess(const FinishedCall& finished, std::vector<CityClock>& clocks) {
  const std::string& name = finished.call->name;
  const json output = json::parse(finished.result->output_json);
  if (name == "current_time") return ReportTime(output, clocks);
  if (name == "recall") return ReportMemories(output);
  if (name == "remember") return "I will remember that.";
  if (name == "calculator") {
    const json arguments = json::parse(finished.call->arguments_json);
    return arguments.at("expression").get<std::string>() + " = " + DumpJson(output) + ".";
  }
  return ToolValueText(*finished.result);
}

std::string ReportResult(const FinishedCall& finished, std::vector<CityClock>& clocks) {
  if (finished.call == nullptr) return ToolOutputText(*finished.result);
  if (finished.result->is_error) {
    return "The tool " + finished.call->name + " failed: " + FailureText(*finished.result) +
           ". The conversation goes on.";
  }
  try {
    return ReportSuccess(finished, clocks);
  } catch (const json::exception&) {
    return ToolValueText(*finished.result);
  }
}

}  // namespace

DialogAnswer AnswerSentence(std::string_view sentence, const std::vector<ToolDeclaration>& tools,
                            std::chrono::sys_seconds now) {
  const std::string simple = Simplify(sentence);
  if (IsDeclared(tools, "calculator")) {
    const std::string expression = CalculationIn(sentence);
    if (!expression.empty()) {
      return {.calls = {CallOf("calculator", {{"expression", expression}})}};
    }
  }
  if (IsDeclared(tools, "remember")) {
    const std::string content = WorthRemembering(sentence);
    if (!content.empty()) return {.calls = {CallOf("remember", {{"content", content}})}};
  }
  if (IsDeclared(tools, "recall") && AsksForMemories(simple)) {
    return {.calls = {CallOf("recall", {{"query", std::string(sentence)}})}};
  }
  if (IsDeclared(tools, "current_time") && AsksForTime(simple)) {
    return {.calls = TimeCalls(sentence, now)};
  }
  if (AsksForStory(simple)) return {.text = std::string(kStory)};
  if (IsGreeting(simple)) return {.text = Greeting(tools)};
  return {};
}

std::string ReportResults(std::string_view sentence, const std::vector<FinishedCall>& finished,
                          std::chrono::sys_seconds now) {
  std::vector<CityClock> clocks = CitiesIn(sentence, now);
  std::string text;
  for (const FinishedCall& one : finished) {
    if (!text.empty()) text.push_back('\n');
    text += ReportResult(one, clocks);
  }
  return text;
}

}  // namespace agent_graph::models
