# prove_simulation, a part of `make prove`: the state server and its workers in one process, with
# faults, in virtual time (t/prove/simulation). The code under test is that of the server. The linker
# replaces the calls of clocks, of the process table and of LevelDB's disk in memory.
if(AGENT_GRAPH_TESTS)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/t/prove/simulation/*.cc)
  add_executable(prove_simulation EXCLUDE_FROM_ALL ${sources})
  agent_graph_link(prove_simulation engine/state/leveldb)
  target_include_directories(prove_simulation PRIVATE ${CMAKE_SOURCE_DIR}/t)
  target_link_libraries(prove_simulation PRIVATE agent_graph_strict)
  foreach(symbol _ZNSt6chrono3_V212steady_clock3nowEv _ZNSt6chrono3_V212system_clock3nowEv
                 _ZN11agent_graph12ProcessEndedElm _ZN7leveldb9NewMemEnvEPNS_3EnvE)
    target_link_options(prove_simulation PRIVATE LINKER:--wrap=${symbol})
  endforeach()
  add_test(NAME simulation COMMAND prove_simulation --schedules 3000 --jobs 2)
  set_tests_properties(simulation PROPERTIES TIMEOUT 900)
  add_dependencies(unit_tests prove_simulation)
endif()
