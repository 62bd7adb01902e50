# The yardsticks of bench/run.py.
add_executable(leveldb_group_commit ${CMAKE_SOURCE_DIR}/bench/leveldb_group_commit.cc)
target_link_libraries(leveldb_group_commit PRIVATE leveldb::leveldb Threads::Threads)
set_target_properties(leveldb_group_commit PROPERTIES
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
