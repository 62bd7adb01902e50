# The yardsticks of bench/run.py.
add_executable(leveldb_group_commit ${CMAKE_SOURCE_DIR}/bench/leveldb_group_commit.cc)
target_link_libraries(leveldb_group_commit PRIVATE leveldb::leveldb Threads::Threads)
set_target_properties(leveldb_group_commit PROPERTIES
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)

# The state service at scale; built by `make bench` only.
add_executable(state_at_scale EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/state_at_scale.cc)
get_target_property(state_closure engine_state AGENT_GRAPH_CLOSURE)
get_target_property(state_libraries engine_state AGENT_GRAPH_LIBRARIES)
foreach(object ${state_closure})
  target_sources(state_at_scale PRIVATE $<TARGET_OBJECTS:${object}>)
endforeach()
target_include_directories(state_at_scale PRIVATE ${CMAKE_SOURCE_DIR}/engine
                           ${CMAKE_SOURCE_DIR}/engine/include)
target_link_libraries(state_at_scale PRIVATE agent_graph_flags ${state_libraries})
set_target_properties(state_at_scale PROPERTIES
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
# What the engine costs per step; `make bench` installs the library.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(engine_steps EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/engine_steps.cc)
  get_target_property(engine_closure engine_run AGENT_GRAPH_CLOSURE)
  get_target_property(engine_libraries engine_run AGENT_GRAPH_LIBRARIES)
  foreach(object ${engine_closure})
    target_sources(engine_steps PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_include_directories(engine_steps PRIVATE ${CMAKE_SOURCE_DIR}/engine
                             ${CMAKE_SOURCE_DIR}/engine/include)
  target_link_libraries(engine_steps PRIVATE agent_graph_flags ${engine_libraries}
                        benchmark::benchmark)
  set_target_properties(engine_steps PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endif()
