package joins

// nextLateral opens the right side again for every row of the left.
func (j *Join) nextLateral() (bool, error) {
	for {
		if err := j.env.Step(1); err != nil {
			return false, err
		}
		if !j.haveLeft {
			ok, err := j.Left.Next()
			if !ok || err != nil {
				return false, err
			}
			if err := j.Right.Open(j.env); err != nil {
				return false, err
			}
			j.haveLeft, j.found = true, false
		}
		ok, err := j.Right.Next()
		if err != nil {
			return false, err
		}
		if !ok {
			j.Right.Close()
			j.haveLeft = false
			if !j.found && j.Kind == "left" {
				clear(j.env.Row[j.RightFrom:j.RightTo])
				j.got++
				return true, nil
			}
			continue
		}
		if j.On != nil {
			holds, err := j.on()
			if err != nil {
				return false, err
			}
			if !holds {
				continue
			}
		}
		j.found = true
		j.got++
		return true, nil
	}
}
