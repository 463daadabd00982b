# module_name and the alg_ functions are defined by Benchpress.
rule:
    name:
        module_name
    input:
        data=alg_input_data(),
    output:
        seqgraph=alg_output_seqgraph_path(module_name),
        time=alg_output_time_path(module_name),
        ntests=alg_output_ntests_path(module_name),
    container:
        None  # or an image that has cslearn
    script:
        "script.py"
