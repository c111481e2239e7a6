import { createElement, type ReactNode, type SVGProps } from "react";

/** A shape of an icon: its element, and the attributes of it. */
type Shape = readonly [tag: string, attributes: Readonly<Record<string, string>>];

interface IconProps extends SVGProps<SVGSVGElement> {
  /** Width and height in pixels beside text of the default size. They grow with it. */
  readonly size?: number;
}

/** An icon in the color of the text around it. */
export type Icon = (props: IconProps) => ReactNode;

/** Makes an icon of shapes on a grid of 24 by 24. */
export function icon(shapes: readonly Shape[]): Icon {
  return ({ size = 24, ...attributes }) => {
    const length = `${size / 16}rem`;
    return createElement(
      "svg",
      {
        xmlns: "http://www.w3.org/2000/svg",
        width: length,
        height: length,
        viewBox: "0 0 24 24",
        fill: "none",
        stroke: "currentColor",
        strokeWidth: 2,
        strokeLinecap: "round",
        strokeLinejoin: "round",
        "aria-hidden": true,
        ...attributes,
      },
      ...shapes.map(([tag, shape]) => createElement(tag, shape)),
    );
  };
}
