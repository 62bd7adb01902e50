# Programs of `make bench`; they are not part of `make build`, but their graph is.
add_custom_target(benchmarks)
add_dependencies(benchmarks bench_graph)

function(agent_graph_benchmark name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;LIBRARIES" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/${name}.cc)
  agent_graph_link(${name} ${ARG_FOLDERS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  add_dependencies(benchmarks ${name})
endfunction()

# The rate of LevelDB's own synced group commits; bench/run.py compares durable runs with it.
agent_graph_benchmark(leveldb_group_commit LIBRARIES leveldb::leveldb)
# The state service with a million threads.
agent_graph_benchmark(state_at_scale FOLDERS engine/state/factory)
# Cost of each step of a run; `make bench` installs the library that it needs.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  agent_graph_benchmark(engine_steps FOLDERS engine/run/loop engine/state/factory LIBRARIES benchmark::benchmark)
endif()
