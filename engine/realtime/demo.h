// The demo realtime model: runs in process, needs no key. For first steps and for tests.
//
// A speech detector listens to the audio; an utterance becomes the text "N.N seconds of speech".
// The demo chat model (models/demo.h) answers it, and the answer is spoken as one tone per word, in
// real time; a long one only in part. `call NAME {arguments}` in a text calls a tool here, too.
// Speech or a text during the answer interrupts it (barge-in). Of the voice activity settings it
// uses `enabled`, `silence_duration_ms` (default 600) and `prefix_padding_ms` (default 60: the
// minimum duration of speech). After each turn it sends a resumption handle, `demo:N` after N
// turns; a session that is resumed with it continues counting.
#pragma once

#include "realtime/link.h"

namespace agent_graph::realtime {

class DemoProvider : public Provider {
 public:
  std::unique_ptr<Link> Prepare(const LinkConfig& config, std::function<void()> wake) override;
  bool resumes() const override { return true; }
};

}  // namespace agent_graph::realtime
