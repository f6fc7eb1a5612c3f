"""The import lines of programs written for torch work with the package's name changed, and so do what they bring."""

import importlib

import pytest

# Each line: an import, as programs have it, and something true of what it brings.
LINES = """
import torch                                                                | torch.is_tensor(torch.zeros(1))
import torch.nn as nn                                                       | isinstance(nn.Linear(1, 1), nn.Module)
import torch.nn.functional as F                                             | F.relu(F.pad(torch.zeros(1), (1, 1))).shape == (3,)
import torch.optim as optim                                                 | issubclass(optim.Adam, optim.Optimizer)
import torch.backends.cudnn as cudnn                                        | not setattr(cudnn, "benchmark", False)
import torch.distributed as dist                                            | not dist.is_initialized()
import torch.utils.checkpoint                                               | callable(torch.utils.checkpoint.checkpoint)
import torch.utils.checkpoint as cp                                         | callable(cp.checkpoint)
import torch.autograd as autograd                                           | callable(autograd.grad)
import torch.fft                                                            | torch.fft.fft(torch.zeros(2)).shape == (2,)
import torch.linalg                                                         | torch.linalg.det(torch.eye(2)) == 1
import torch.nn.init as init                                                | callable(init.xavier_uniform_)
from torch import nn, optim                                                 | issubclass(nn.ReLU, nn.Module)
from torch import Tensor                                                    | isinstance(torch.zeros(1), Tensor)
from torch.autograd import Function, Variable, gradcheck                    | isinstance(Variable(torch.zeros(1)), Variable)
from torch.autograd import grad, backward                                   | callable(grad)
from torch.autograd.function import once_differentiable, Function           | callable(once_differentiable)
from torch.autograd.gradcheck import gradcheck, gradgradcheck               | callable(gradgradcheck)
from torch.autograd.functional import jacobian, hessian                     | callable(jacobian)
from torch.autograd.forward_ad import dual_level                            | callable(dual_level)
from torch.autograd.graph import saved_tensors_hooks                        | callable(saved_tensors_hooks)
from torch.autograd.grad_mode import no_grad                                | callable(no_grad)
from torch.autograd.anomaly_mode import detect_anomaly                      | callable(detect_anomaly)
from torch.autograd.profiler import record_function                         | record_function("a").name == "a"
from torch.profiler import record_function                                  | callable(record_function)
from torch.cuda.amp import custom_fwd, custom_bwd                           | callable(custom_fwd)
from torch.cuda.amp import autocast                                         | callable(autocast)
from torch.amp import custom_fwd, custom_bwd                                | callable(custom_bwd)
from torch.func import vmap, grad, jacrev, functional_call                  | callable(functional_call)
from torch.nn import Module, Parameter                                      | isinstance(Parameter(torch.zeros(1)), Parameter)
from torch.nn.parameter import Parameter                                    | isinstance(Parameter(torch.zeros(1)), Parameter)
from torch.nn.modules import Module                                         | issubclass(torch.nn.Linear, Module)
from torch.nn.modules.module import Module                                  | issubclass(torch.nn.Linear, Module)
from torch.nn.modules.utils import _pair, _triple                           | _pair(2) == (2, 2) and _triple(1) == (1, 1, 1)
from torch.nn.modules.conv import _ConvNd, Conv2d                           | issubclass(Conv2d, _ConvNd)
from torch.nn.modules.batchnorm import _BatchNorm                           | isinstance(torch.nn.BatchNorm2d(1), _BatchNorm)
from torch.nn.modules.loss import _Loss, _WeightedLoss                      | _Loss().reduction == "mean"
from torch.nn.utils import clip_grad_norm_, parameters_to_vector            | callable(clip_grad_norm_)
from torch.optim import Optimizer, SGD, LBFGS                               | issubclass(LBFGS, Optimizer)
from torch.testing import assert_close                                      | assert_close(torch.zeros(1), torch.zeros(1)) is None
from torch.types import Number, Device                                      | Number is not None
from torch.onnx import is_in_onnx_export                                    | is_in_onnx_export() is False
from torch.special import gammaln, digamma                                  | gammaln(torch.ones(1)) == 0
from torch.random import manual_seed                                        | callable(manual_seed)
"""
LINES = [tuple(part.strip() for part in line.split("|")) for line in LINES.strip().splitlines()]


def check(line, claim, package):
    """Run the import with `package` in the place of torch."""
    bring = line.replace("import torch.", f"import {package}.").replace("from torch", f"from {package}")
    bring = f"import {package} as torch" if line == "import torch" else bring
    names = {"torch": importlib.import_module(package)}
    exec(bring, names)
    assert eval(claim, names)


@pytest.mark.parametrize(("line", "claim"), LINES)
def test_import_lines_work_with_the_name_changed(line, claim):
    check(line, claim, "pullback.torch")


@pytest.mark.torch
@pytest.mark.parametrize(("line", "claim"), LINES)
def test_they_are_lines_that_work_in_torch(line, claim):
    check(line, claim, "torch")
