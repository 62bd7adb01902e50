// The clocks and the process table that the code under test sees. The linker replaces the calls of
// std::chrono and of base/process.h (see cmake/Prove.cmake).
#pragma once

#include <chrono>
#include <cstdint>

namespace agent_graph::simulation {

// Both clocks start at a fixed time.
void ResetTime();
void PassTime(std::chrono::microseconds time);
int64_t NowMicros();  // time of day

// Processes have numbers from 1 on. All of them run until they are ended.
void ResetProcesses();
int64_t StartProcess();
void EndProcess(int64_t process);
bool ProcessRuns(int64_t process);

}  // namespace agent_graph::simulation
