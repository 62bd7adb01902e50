// Cities and their time zones, as far as the demo model needs them for its dialog. Not a time zone
// database: the rules are those of today, for some well-known cities.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::models {

struct CityClock {
  std::string city;
  int utc_offset_minutes = 0;  // at the given time, with summer time
};

// The cities that `text` names (any case), in the order of the text.
std::vector<CityClock> CitiesIn(std::string_view text, std::chrono::sys_seconds now);

}  // namespace agent_graph::models
