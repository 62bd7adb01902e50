#include "models/demo_clock.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/letter_case.h"

namespace agent_graph::models {
namespace {

enum class SummerTime { kNone, kEurope, kAmerica };

struct City {
  std::string_view name;
  int standard_offset_minutes;
  SummerTime summer = SummerTime::kNone;
};

constexpr City kCities[] = {
    {.name = "Tokyo", .standard_offset_minutes = 540},
    {.name = "Seoul", .standard_offset_minutes = 540},
    {.name = "Beijing", .standard_offset_minutes = 480},
    {.name = "Shanghai", .standard_offset_minutes = 480},
    {.name = "Singapore", .standard_offset_minutes = 480},
    {.name = "Bangkok", .standard_offset_minutes = 420},
    {.name = "Delhi", .standard_offset_minutes = 330},
    {.name = "Mumbai", .standard_offset_minutes = 330},
    {.name = "Dubai", .standard_offset_minutes = 240},
    {.name = "Moscow", .standard_offset_minutes = 180},
    {.name = "Istanbul", .standard_offset_minutes = 180},
    {.name = "Nairobi", .standard_offset_minutes = 180},
    {.name = "Helsinki", .standard_offset_minutes = 120, .summer = SummerTime::kEurope},
    {.name = "Athens", .standard_offset_minutes = 120, .summer = SummerTime::kEurope},
    {.name = "Berlin", .standard_offset_minutes = 60, .summer = SummerTime::kEurope},
    {.name = "Paris", .standard_offset_minutes = 60, .summer = SummerTime::kEurope},
    {.name = "Rome", .standard_offset_minutes = 60, .summer = SummerTime::kEurope},
    {.name = "Madrid", .standard_offset_minutes = 60, .summer = SummerTime::kEurope},
    {.name = "Vienna", .standard_offset_minutes = 60, .summer = SummerTime::kEurope},
    {.name = "Lagos", .standard_offset_minutes = 60},
    {.name = "London", .standard_offset_minutes = 0, .summer = SummerTime::kEurope},
    {.name = "Reykjavik", .standard_offset_minutes = 0},
    {.name = "Buenos Aires", .standard_offset_minutes = -180},
    {.name = "New York", .standard_offset_minutes = -300, .summer = SummerTime::kAmerica},
    {.name = "Toronto", .standard_offset_minutes = -300, .summer = SummerTime::kAmerica},
    {.name = "Chicago", .standard_offset_minutes = -360, .summer = SummerTime::kAmerica},
    {.name = "San Francisco", .standard_offset_minutes = -480, .summer = SummerTime::kAmerica},
    {.name = "Los Angeles", .standard_offset_minutes = -480, .summer = SummerTime::kAmerica},
    {.name = "Honolulu", .standard_offset_minutes = -600},
};

bool IsSummer(const City& city, std::chrono::sys_seconds now) {
  using std::chrono::hours, std::chrono::last, std::chrono::minutes, std::chrono::sys_days;
  using std::chrono::March, std::chrono::October, std::chrono::November, std::chrono::Sunday;
  const std::chrono::year this_year =
      std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(now)).year();
  if (city.summer == SummerTime::kEurope) {  // changes at 01:00 UTC everywhere
    return now >= sys_days(this_year / March / Sunday[last]) + hours(1) &&
           now < sys_days(this_year / October / Sunday[last]) + hours(1);
  }
  if (city.summer == SummerTime::kAmerica) {  // changes at 02:00 local time
    const minutes standard(city.standard_offset_minutes);
    return now >= sys_days(this_year / March / Sunday[2]) + hours(2) - standard &&
           now < sys_days(this_year / November / Sunday[1]) + hours(1) - standard;
  }
  return false;
}

}  // namespace

std::vector<CityClock> CitiesIn(std::string_view text, std::chrono::sys_seconds now) {
  const std::string lower = LowerCase(text);
  std::vector<std::pair<size_t, const City*>> found;
  for (const City& city : kCities) {
    const size_t place = lower.find(LowerCase(city.name));
    if (place != std::string::npos) found.emplace_back(place, &city);
  }
  std::ranges::sort(found);
  std::vector<CityClock> clocks;
  for (const auto& [place, city] : found) {
    const int offset = city->standard_offset_minutes + (IsSummer(*city, now) ? 60 : 0);
    clocks.push_back({.city = std::string(city->name), .utc_offset_minutes = offset});
  }
  return clocks;
}

}  // namespace agent_graph::models
