#include "run/loop/thread_name.h"

#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "message/texts.h"
#include "run/nodes/user_code.h"

namespace agent_graph::run {
namespace {

constexpr std::chrono::seconds kNamingTimeMax{5};

constexpr std::string_view kMoods[] = {
    "able",  "bold",  "brave", "brisk",  "calm",  "clear",  "clever", "cosy",
    "eager", "early", "fair",  "fresh",  "free",  "gentle", "glad",   "grand",
    "happy", "keen",  "kind",  "lively", "lucky", "merry",  "mild",   "neat",
    "noble", "open",  "plain", "proud",  "quick", "quiet",  "ready",  "wise"};
constexpr std::string_view kColours[] = {
    "amber", "azure",  "beige", "black",  "blue",   "bronze", "brown",  "copper",
    "coral", "cream",  "ebony", "gold",   "green",  "grey",   "indigo", "ivory",
    "jade",  "khaki",  "lilac", "lime",   "maroon", "mint",   "ochre",  "olive",
    "pearl", "purple", "red",   "silver", "teal",   "violet", "white",  "yellow"};
constexpr std::string_view kAnimals[] = {
    "badger", "beaver", "bison", "crane", "deer",  "dolphin", "eagle",  "falcon",
    "ferret", "finch",  "fox",   "gecko", "hare",  "hawk",    "heron",  "horse",
    "ibex",   "jay",    "koala", "lark",  "lynx",  "marten",  "mole",   "moose",
    "newt",   "otter",  "owl",   "panda", "raven", "robin",   "salmon", "wren"};

std::string_view Pick(const std::string_view (&words)[32], uint64_t random) {
  return words[random % std::size(words)];
}

bool IsBlank(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
}

std::vector<std::string> Texts(const std::vector<Message>& messages) {
  std::vector<std::string> texts;
  for (const Message& message : messages) {
    if (std::string text = message::JoinedTexts(message); !text.empty())
      texts.push_back(std::move(text));
  }
  return texts;
}

// Shared with the thread that runs the generator, which may exceed its time limit.
struct Naming {
  ThreadNamer make;
  std::vector<std::string> texts;
  std::string name;
};

}  // namespace

std::string RandomThreadName() {
  const uint64_t random = RandomUint64();
  std::string name(Pick(kMoods, random));
  name.append("-").append(Pick(kColours, random >> 16));
  name.append("-").append(Pick(kAnimals, random >> 32));
  return name;
}

std::string NameThread(const RunEnvironment& environment, const std::vector<Message>& messages) {
  if (!environment.services->name_thread) return "";
  RunEnvironment unhurried = environment;
  unhurried.cancellation = runtime::Cancellation();
  auto naming = std::make_shared<Naming>();
  naming->make = environment.services->name_thread;
  naming->texts = Texts(messages);
  const Status status = CallUserCode(
      unhurried, Execution::kBlocking, [naming] { naming->name = naming->make(naming->texts); },
      "thread name", DeadlineAfter(kNamingTimeMax));
  if (!status.ok()) {
    environment.Log(LogLevel::kWarning, "", "the thread gets no name: " + status.ToString());
    return "";
  }
  return CleanThreadName(naming->name);
}

std::string CleanThreadName(std::string_view name) {
  while (!name.empty() && IsBlank(name.front())) name.remove_prefix(1);
  name = CutAtCharacter(name, kThreadNameBytesMax);
  while (!name.empty() && IsBlank(name.back())) name.remove_suffix(1);
  std::string clean(name);
  for (char& c : clean) {
    if (IsBlank(c)) c = ' ';
  }
  return clean;
}

}  // namespace agent_graph::run
