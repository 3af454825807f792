# The tests that `tools/test` leaves to `tools/test --all`: they take half of the time of all tests, and other tests cover
# the same code with fewer programs, ranks or faults.

foreach(name
		build/cuda_headers
		build/generated
		check/each_rank
		check/mutation
		check/random_fences
		check/same_files
		cuda/failures_alone
		examples/cuda_ipc
		examples/cuda_nccl
		examples/cuda_pipelines
		examples/fork_pipelines
		examples/mpi_pipelines
		examples/thread_pipelines
		run/adversary_mutants
		run/delays
		run/gpu_acceptance_alone
		run/kill
		run/late
		run/many_hosts_2
		run/many_hosts_4
		run/soak
		run/stress
		sim/classes
		unit/cuda_gemm_shape
		unit/cuda_nvrtc
		vary/layouts
		vary/layouts_mpi
		vary/programs_cuda
		vary/proofs)
	if(TEST ${name})
		set_property(TEST ${name} APPEND PROPERTY LABELS long)
	endif()
endforeach()
