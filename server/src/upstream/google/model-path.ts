/** A model's path below the base URL. Names such as `tunedModels/x` are paths already. */
export function modelPath(model: string): string {
  return model.includes("/") ? model : `models/${model}`;
}
