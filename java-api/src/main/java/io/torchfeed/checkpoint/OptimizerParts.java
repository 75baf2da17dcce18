// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.OptimizerState;
import io.torchfeed.checkpoint.StateCopy.Held;
import io.torchfeed.checkpoint.StateDict.Checked;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The state of an optimizer, under the names of the parameters: {@code state.fc.weight.exp_avg}.
 * The JSON has the options by Python's names, a list of groups as in {@code param_groups}.
 */
final class OptimizerParts implements Held, Checked {
  private static final int VERSION = 1;
  private static final String PREFIX = "state.";
  private static final String PARAMS = "params";
  private static final String BETAS = "betas";
  private static final long MAX_FLOAT_STEP = 1L << 24; // to which float32 has all whole numbers

  /** A group of parameters with its options. */
  private static final class Group {
    final List<String> names = new ArrayList<>();
    final List<Tensor> parameters = new ArrayList<>();
    final double[] options;

    Group(int options) {
      this.options = new double[options];
    }
  }

  private final Optimizer optimizer;
  private final Module module;
  private final String kindName;
  private final OptimizerKind kind;

  /**
   * Describes an optimizer.
   *
   * @param module has all its parameters
   * @throws IllegalArgumentException if a parameter is not of the module, or the optimizer is not
   *     one whose state is known
   */
  OptimizerParts(Optimizer optimizer, Module module) {
    this.optimizer = optimizer;
    this.module = module;
    try (PointerScope scope = new PointerScope()) {
      kindName = OptimizerState.kind(optimizer).getString();
      kind = OptimizerKind.of(kindName);
      groups();
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /** Returns the groups; the tensors are owned by the caller's pointer scope. */
  private List<Group> groups() {
    Map<Long, String> names = new HashMap<>();
    ModuleState.parameters(module)
        .forEach((name, tensor) -> names.putIfAbsent(identity(tensor), name));
    OptimizerParamGroupVector all = optimizer.param_groups();
    List<Group> groups = new ArrayList<>();
    for (long i = 0; i < all.size(); i++) {
      TensorVector parameters = all.get(i).params();
      Group group = new Group(kind.options().size());
      for (long j = 0; j < parameters.size(); j++) {
        Tensor parameter = parameters.get(j);
        String name = names.get(identity(parameter));
        if (name == null) {
          throw new IllegalArgumentException(
              "parameter %d of group %d of the optimizer is not one of the module".formatted(j, i));
        }
        group.names.add(name);
        group.parameters.add(parameter);
      }
      OptimizerState.options(optimizer, i, group.options);
      groups.add(group);
    }
    return groups;
  }

  private static long identity(Tensor tensor) {
    return tensor.unsafeGetTensorImpl().address();
  }

  @Override
  public StateDict stateDict() {
    return stateDict(StateDict::of);
  }

  @Override
  public StateDict sharedStateDict() {
    return stateDict(StateDict::sharing);
  }

  @Override
  public StateDict heldStateDict() {
    return sharedStateDict();
  }

  private StateDict stateDict(BiFunction<String, Map<String, Tensor>, StateDict> make) {
    try (PointerScope scope = new PointerScope()) {
      Map<String, Tensor> tensors = new LinkedHashMap<>();
      List<Group> groups = groups();
      for (Group group : groups) {
        for (int i = 0; i < group.names.size(); i++) {
          TensorVector kept = OptimizerState.tensors(optimizer, group.parameters.get(i));
          for (int field = 0; field < kept.size(); field++) {
            Tensor tensor = kept.get(field);
            if (tensor.defined()) {
              String name = kind.tensors().get(field);
              tensors.put(
                  nameOf(group.names.get(i), name),
                  name.equals(OptimizerKind.STEP) ? asInPython(tensor) : tensor);
            }
          }
        }
      }
      return make.apply(json(groups), tensors);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  private static String nameOf(String parameter, String field) {
    return PREFIX + parameter + '.' + field;
  }

  /** Returns a number of steps as Python has it, unless that would change it. */
  private static Tensor asInPython(Tensor steps) {
    return steps.to(
        steps.item_long() <= MAX_FLOAT_STEP ? torch.ScalarType.Float : torch.ScalarType.Double);
  }

  private String json(List<Group> groups) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("kind", kindName);
      out.writeArrayFieldStart("param_groups");
      for (Group group : groups) {
        out.writeStartObject();
        out.writeArrayFieldStart(PARAMS);
        for (String name : group.names) {
          out.writeString(name);
        }
        out.writeEndArray();
        for (int i = 0; i < group.options.length; i++) {
          writeOption(out, kind.options().get(i), group.options, i);
        }
        out.writeEndObject();
      }
      out.writeEndArray();
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string takes anything
    }
    return text.toString();
  }

  private static void writeOption(JsonGenerator out, String name, double[] values, int i)
      throws IOException {
    if (OptimizerKind.FLAGS.contains(name)) {
      out.writeBooleanField(name, values[i] != 0);
    } else if (name.equals("beta1")) {
      out.writeFieldName(BETAS);
      out.writeArray(values, i, 2);
    } else if (!name.equals("beta2")) {
      out.writeNumberField(name, values[i]);
    }
  }

  @Override
  public void check(StateDict state) {
    try (PointerScope scope = new PointerScope()) {
      options(state, groups());
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /** Returns a turn before modules: this alone may need memory. */
  @Override
  public int turn() {
    return 1;
  }

  @Override
  public void loadStateDict(StateDict state) {
    try (PointerScope scope = new PointerScope()) {
      List<Group> groups = groups();
      List<double[]> options = options(state, groups);
      Map<Tensor, TensorVector> restored = new LinkedHashMap<>();
      for (Group group : groups) {
        for (int i = 0; i < group.names.size(); i++) {
          Tensor parameter = group.parameters.get(i);
          restored.put(parameter, kept(group.names.get(i), parameter, state));
        }
      }
      restored.forEach(
          (parameter, tensors) -> OptimizerState.set_tensors(optimizer, parameter, tensors));
      for (int i = 0; i < options.size(); i++) {
        OptimizerState.set_options(optimizer, i, options.get(i));
      }
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /** Checks a state, and returns the options of each group. */
  private List<double[]> options(StateDict state, List<Group> groups) {
    List<double[]> options = options(state.json(), groups);
    Set<String> left = new HashSet<>(state.tensors().keySet());
    for (int i = 0; i < groups.size(); i++) {
      Group group = groups.get(i);
      List<String> required = kind.required(options.get(i));
      for (int j = 0; j < group.names.size(); j++) {
        requireKept(group.names.get(j), group.parameters.get(j), state.tensors(), left, required);
      }
    }
    if (!left.isEmpty()) {
      throw new IllegalArgumentException(
          "the state has a tensor that the optimizer does not keep: " + left.iterator().next());
    }
    return options;
  }

  /** Checks a parameter's tensors in a state, and removes their names. */
  private void requireKept(
      String parameter,
      Tensor place,
      Map<String, Tensor> saved,
      Set<String> left,
      List<String> required) {
    if (hasNone(parameter, saved)) {
      return;
    }
    for (String field : kind.tensors()) {
      String name = nameOf(parameter, field);
      Tensor tensor = saved.get(name);
      left.remove(name);
      if (tensor == null) {
        if (required.contains(field)) {
          throw new IllegalArgumentException("the state lacks the tensor " + name);
        }
      } else if (field.equals(OptimizerKind.STEP)) {
        requireSteps(name, tensor);
      } else if (!StateDict.describe(tensor).equals(StateDict.describe(place))) {
        throw new IllegalArgumentException(
            "tensor %s of the state must be %s as its parameter, got %s"
                .formatted(name, StateDict.describe(place), StateDict.describe(tensor)));
      }
    }
  }

  private boolean hasNone(String parameter, Map<String, Tensor> saved) {
    return kind.tensors().stream().noneMatch(each -> saved.containsKey(nameOf(parameter, each)));
  }

  private static void requireSteps(String name, Tensor tensor) {
    double steps = tensor.numel() == 1 ? tensor.item_double() : -1;
    if (!(steps >= 0 && steps < Long.MAX_VALUE && steps == Math.rint(steps))) {
      throw new IllegalArgumentException(
          "tensor %s of the state must be a whole number of steps".formatted(name));
    }
  }

  /** Returns a parameter's tensors in a state that has been checked, or copies. */
  private TensorVector kept(String parameter, Tensor place, StateDict state) {
    if (hasNone(parameter, state.tensors())) {
      return new TensorVector();
    }
    Tensor[] tensors = new Tensor[kind.tensors().size()];
    for (int i = 0; i < tensors.length; i++) {
      String field = kind.tensors().get(i);
      Tensor tensor = state.tensors().get(nameOf(parameter, field));
      if (tensor == null) {
        tensors[i] = new Tensor();
      } else if (field.equals(OptimizerKind.STEP)) {
        tensors[i] = tensor.to(torch.ScalarType.Long);
      } else {
        tensors[i] = own(tensor, place, state.isGiven());
      }
    }
    return new TensorVector(tensors);
  }

  /** Returns a tensor in the layout of its parameter: the one of the state if it is given. */
  private static Tensor own(Tensor tensor, Tensor place, boolean isGiven) {
    return isGiven && place.is_cpu() && place.is_contiguous()
        ? tensor
        : torch.empty_like(place.detach()).copy_(tensor);
  }

  /** Returns the options of each group of a state with the same groups. */
  private List<double[]> options(String text, List<Group> groups) {
    JsonObject json = JsonObject.parse("state of an optimizer", text);
    json.requireKind(kindName);
    json.only("version", "kind", "param_groups").requireVersion(VERSION);
    List<JsonObject> saved = json.objects("param_groups");
    if (saved.size() != groups.size()) {
      throw new IllegalArgumentException(
          "the state has %d groups of parameters, the optimizer has %d"
              .formatted(saved.size(), groups.size()));
    }
    Map<Set<String>, JsonObject> byNames = new LinkedHashMap<>();
    for (JsonObject group : saved) {
      if (byNames.put(new TreeSet<>(group.texts(PARAMS)), group) != null) {
        throw new IllegalArgumentException("two groups of the state have the same parameters");
      }
    }
    List<double[]> options = new ArrayList<>();
    for (int i = 0; i < saved.size(); i++) {
      Set<String> names = new TreeSet<>(groups.get(i).names);
      JsonObject group = byNames.get(names);
      if (group == null) {
        throw new IllegalArgumentException(differences(i, names, byNames.keySet()));
      }
      options.add(options(group));
    }
    return options;
  }

  /** Returns the message for a group that the state does not have, with the names that differ. */
  private static String differences(int group, Set<String> names, Set<Set<String>> saved) {
    Set<String> all = new TreeSet<>();
    saved.forEach(all::addAll);
    Set<String> missing = new TreeSet<>(names);
    missing.removeAll(all);
    return "no group of the state has the same parameters as group %d of the optimizer; %s"
        .formatted(
            group,
            missing.isEmpty()
                ? "their groups are divided in another way"
                : "missing names: " + Quotes.shortened(String.join(", ", missing)));
  }

  private double[] options(JsonObject group) {
    List<String> known = new ArrayList<>(kind.options());
    known.removeIf(name -> name.startsWith("beta")); // these are one field
    known.addAll(List.of(PARAMS, BETAS));
    group.only(known.toArray(String[]::new));
    double[] values = new double[kind.options().size()];
    for (int i = 0; i < values.length; i++) {
      String name = kind.options().get(i);
      if (OptimizerKind.FLAGS.contains(name)) {
        values[i] = group.bool(name) ? 1 : 0;
      } else if (name.startsWith("beta")) {
        List<Double> betas = group.decimals(BETAS);
        if (betas.size() != 2) {
          throw new IllegalArgumentException("betas must be two numbers, got " + betas.size());
        }
        values[i] = betas.get(name.equals("beta1") ? 0 : 1);
      } else {
        values[i] = group.decimal(name);
      }
    }
    return values;
  }
}
