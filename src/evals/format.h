// Formats numbers for the evaluation routes.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph::evals {

std::string Format(const char* format, double value);  // formats a number with a format of printf
double Rounded(double value, int decimals);            // rounds like printf
std::string Ago(double seconds);                       // "just now", "5m ago", "3h ago", "2d ago"
std::string TokenText(int64_t tokens);                 // "999 tok", "1.5k tok"
std::string SecondsText(double value);                 // "3.1s"
double Percent(double rate);                           // one decimal: 0.9996 is 100.0

}  // namespace agent_graph::evals
