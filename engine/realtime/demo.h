// The demo realtime model: in process, no key. For a first try and for tests.
//
// Sound is listened to with a detector of speech; an utterance becomes the text "N.N seconds of
// speech". What the demo chat model (models/demo.h) answers to a text is spoken, a tone for each
// word, at the rate at which it is heard: `call NAME {arguments}` calls a tool here, too. Speech or
// a text that comes meanwhile interrupts. Of the settings for voice activity `enabled`,
// `silence_duration_ms` (600 by default) and `prefix_padding_ms` (60: how long a sound must be to
// count) are heard. After each turn comes a handle, `demo:N` after N turns; a session that is
// resumed with it goes on counting.
#pragma once

#include "realtime/link.h"

namespace agent_graph::realtime {

class DemoProvider : public Provider {
 public:
  std::unique_ptr<Link> Prepare(const LinkConfig& config, std::function<void()> wake) override;
  bool resumes() const override { return true; }
};

}  // namespace agent_graph::realtime
