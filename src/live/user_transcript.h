// UserTranscript: the state machine of the user's transcripts, and the lines that wait for them.
//
//   none ─► open ─────► none
//    └────► expected ─► none
//
// Some providers send the transcript of an utterance after its answer. If the transcript is
// expected, the lines that follow the utterance are held until it is complete. Utterances whose
// transcripts are announced while an earlier one is expected get a placeholder among these lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "live/line.h"
#include "live/utterance.h"

namespace agent_graph::live {

// Not thread-safe; never blocks. A transition that is not in the picture above stops the process.
class UserTranscript {
 public:
  enum class Phase : uint8_t {
    kNone,      // no utterance is in progress
    kOpen,      // words of an utterance have arrived
    kExpected,  // the user's words are expected; other lines wait
  };

  // The state at the end of a phase.
  struct Finished {
    bool expected = false;
    std::string text = {};
    std::vector<Line> held = {};
    size_t announced = 0;
  };

  Phase phase() const { return Phase{static_cast<uint8_t>(state_.index())}; }
  bool open() const { return phase() != Phase::kNone; }
  bool expected() const { return phase() == Phase::kExpected; }
  // Number of utterances, including the current one, whose transcripts the provider has announced.
  size_t announced() const;
  // Size of the words and of the lines that are held.
  size_t bytes() const;
  // End of the wait for the transcript.
  Deadline deadline() const;

  // none → expected. `announced`: see announced().
  void Expect(Deadline until, size_t announced);
  // Holds a line until the transcript has arrived. Requires kExpected. Returns false and leaves
  // `line` unchanged if too much is held already: finish the transcript first.
  [[nodiscard]] bool Hold(Line& line);
  // A further utterance was announced; its placeholder is held.
  void AddAnnounced();
  // Fills the placeholder of an utterance that follows the current one; `place` counts from 1. A
  // blank text removes it. Requires kExpected and announced() > 1.
  void FillPlaceholder(size_t place, const std::string& text);
  // Extends the wait, or sets its end. Both require kExpected.
  void ExtendWait(Deadline until);
  void SetWait(Deadline until);

  // Adds words; none → open. The results are those of Utterance.
  std::string_view Add(std::string_view piece);
  std::string FinishPart(std::string_view whole);

  // → none.
  Finished Finish();

 private:
  struct None {};
  struct Open {
    Utterance words;
  };
  struct Expected {
    Deadline until;
    size_t announced = 0;
    Utterance words = {};
    std::vector<Line> held = {};
    size_t held_bytes = 0;
  };
  using State = std::variant<None, Open, Expected>;  // in the order of Phase

  void Enter(State next);
  Utterance& words();
  Expected& expected_state();

  State state_;
};

}  // namespace agent_graph::live
