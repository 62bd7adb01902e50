// SessionTimes: time limits of a live session.
#pragma once

#include <chrono>

namespace agent_graph::live {

struct SessionTimes {
  std::chrono::milliseconds drain_max{30'000};
  // Wait for the start of an answer when the client has gone. It is short because no client hears
  // the answer, and because the session blocks its thread for the client's next session.
  std::chrono::milliseconds unheard_max{5'000};
  std::chrono::milliseconds drain_quiet{1'500};  // wait for the start of an answer to audio
  std::chrono::milliseconds ready_max{15'000};   // wait for the provider to accept a link
  std::chrono::milliseconds reconnect_first{500};
  std::chrono::milliseconds reconnect_last{10'000};
  int reconnects_max = 5;
  std::chrono::milliseconds go_away_margin{2'000};
  std::chrono::milliseconds leave_max{3'000};  // wait for a provider to confirm the end of a link
  // A link that was ready for this time resets the count of failures.
  std::chrono::milliseconds proven_after{60'000};
  // Waits for a transcript of the user: after its audio; after an answer, for providers that do not
  // announce transcripts; and between two pieces of a transcript.
  std::chrono::milliseconds transcript_max{10'000};
  std::chrono::milliseconds transcript_after_answer{5'000};
  std::chrono::milliseconds transcript_pause{1'000};
  std::chrono::milliseconds handover_max{2'000};  // wait for the transcript that led to a handover
};

}  // namespace agent_graph::live
