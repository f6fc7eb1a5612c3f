#!/usr/bin/env python3
"""Write names.json: the public names of torch, place by place, for `docs/make_torch_names.py` (needs torch).

    python tests/conformance/record_names.py

Functions, classes and constants that belong to torch; not its submodules, type checking helpers, storages and names of kernels.
"""

import inspect
import json
import re
from pathlib import Path

import torch

PLACES = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.nn": torch.nn,
    "torch.nn.functional": torch.nn.functional,
    "torch.nn.init": torch.nn.init,
    "torch.nn.utils": torch.nn.utils,
    "torch.autograd": torch.autograd,
    "torch.autograd.functional": torch.autograd.functional,
    "torch.autograd.forward_ad": torch.autograd.forward_ad,
    "torch.autograd.graph": torch.autograd.graph,
    "torch.func": torch.func,
    "torch.amp": torch.amp,
    "torch.testing": torch.testing,
    "torch.utils.checkpoint": torch.utils.checkpoint,
    "torch.optim": torch.optim,
    "torch.random": torch.random,
}
KERNELS = re.compile(
    r"cudnn|miopen|mkldnn|fbgemm|quantize|q_|qscheme|int_repr|dequantize|fake_|fused_|sym_|native_|batch_norm_(?!$)|choose_q|"
    r"grid_sampler|affine_grid_generator|conv_tbc|hash_tensor|segment_reduce|rnn_|lstm_|gru_|.*Storage|.*Type|Script|.*_notes$|"
    r"Benchmark|Stream|Event|import_ir|parse_|prepare_|get_file_path|read_vit|merge_type|unify_|init_num|set_autocast|"
    r"get_autocast|autocast_|clear_auto|is_autocast_(xla|ipu)|common_args|multi_dim|common_notes|boolean_dispatch|"
    r"assert_int|handle_torch|has_torch|dsmm|hsmm|hspmm|saddmm|smm|sspaddmm|spmm|.*sparse|fork$|wait$|to_padded|.*_indices_copy|"
    r"indices_copy|values_copy|ccol_|is_vulkan|vulkan|xpu|ipu|mtia|module_load|reinforce|bits|quint|qint|Q[UI]|scaled_|grouped_mm|"
    r"Profiler|Kineto|kineto|profiler|record_stream|int\d|uint\d|bit$|jagged|classproperty|factory_|legacy_contiguous|thread_safe|slice_inverse|get_device_module|"
    r"capture_logs|check_backward_val|noop_context|tree_map|set_override|region_act|set_warn_on_acc|convert_conv|fuse_|skip_init|"
    r"is_tensor_like|is_view_replay|enforce_grad|debug_unwrap|replace_all|.*_device_states|create_selective|set_checkpoint|"
    r"swap_in_|embedding_renorm|empty_quantized|empty_permuted|profile"
)


def belongs(place, name, value):
    if place != "torch" and name in {"Tensor", "Generator", "Variable", "log"}:
        return place == "torch.autograd" and name == "Variable"
    if name.startswith("_") or KERNELS.match(name) or inspect.ismodule(value):
        return False
    if name[0].isupper() and not (place in ("torch.nn", "torch.optim") and inspect.isclass(value)):
        return name in {"Tensor", "Size", "Generator", "Function", "Variable", "GradcheckError"} or name.endswith(
            "Tensor"
        )
    home = getattr(value, "__module__", None) or ""
    return not callable(value) or home.startswith("torch") or home in ("builtins", "") or home is None


def main():
    found = {}
    for place, space in PLACES.items():
        names = set(dir(space))
        if place == "torch":
            names &= set(torch.__all__) | set(dir(torch._C._VariableFunctions)) | {n for n in names if n[0].islower()}
        found[place] = sorted(name for name in names if belongs(place, name, inspect.getattr_static(space, name, None)))
    lines = [f"{json.dumps(place)}: {json.dumps(' '.join(names))}" for place, names in found.items()]
    target = Path(__file__).parent / "names.json"
    target.write_text(
        '{"torch": ' + json.dumps(torch.__version__) + ',\n"names": {\n' + ",\n".join(lines) + "\n}}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
